package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// keeper is an API behind a network to its object store, and a tenant with one
// collection, "orders".
type keeper struct {
	*stack
	api     *running
	network *testkit.StoreFaults
	owner   customer
	token   string
	ordered string // the URL of the collection
}

// newKeeper is of a tenant whose new collections begin at a storage format.
func newKeeper(t testing.TB, format int16) *keeper {
	t.Helper()
	k := &keeper{stack: newStack(t, 2), network: testkit.NewStoreFaults(t)}
	k.api = k.serve(t, testkit.BodiesEnviron(k.network.Proxied(t, testkit.BodyStore(t)))...)
	k.owner = k.tenant(t, k.api, "owner", tenancy.TenantScopes()...)
	if format == 2 {
		if _, err := k.operator(t, k.api).SetStorageWithResponse(t.Context(), k.owner.id, holdfast.SetStorage{RecordFormat: format}); err != nil {
			t.Fatal(err)
		}
	}
	k.token = k.buyToken(t, k.owner.key)
	k.ordered = k.api.url + "/v1/collections/orders"
	if made := k.ask(t, "PUT", "", `{}`); made.status != http.StatusCreated || !strings.Contains(made.text(), fmt.Sprintf(`"record_format":%d`, format)) {
		t.Fatalf("no collection: %d %s", made.status, made.body)
	}
	return k
}

func (k *keeper) buyToken(t testing.TB, key string) string {
	t.Helper()
	return (&subject{stack: k.stack, api: k.api}).buyToken(t, key)
}

// inBothFormats runs a test with bodies in the database, and with bodies in the
// object store.
func inBothFormats(t *testing.T, test func(t *testing.T, k *keeper)) {
	for name, format := range map[string]int16{"database": 1, "store": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newKeeper(t, format))
		})
	}
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
	cut    error // why it could not be read to its end
}

func (r reply) text() string { return string(r.body) }

// into reads the answer as JSON.
func (r reply) into(t testing.TB, value any) {
	t.Helper()
	if err := json.Unmarshal(r.body, value); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
}

// problem is the answer as a problem, which it must be.
func (r reply) problem(t testing.TB) holdfast.Problem {
	t.Helper()
	var p holdfast.Problem
	if r.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("no problem: %d %v %.200s", r.status, r.header, r.body)
	}
	r.into(t, &p)
	return p
}

func (r reply) expectProblem(t testing.TB, status int, code string) holdfast.Problem {
	t.Helper()
	p := r.problem(t)
	if r.status != status || p.Code != code {
		t.Errorf("got %d %s, want %d %s", r.status, r.body, status, code)
	}
	return p
}

// ask sends a request below the collection, with JSON in its body, and header lines.
// It doesn't try again.
func (k *keeper) ask(t testing.TB, method, path, body string, headers ...string) reply {
	t.Helper()
	if body != "" {
		headers = append([]string{"Content-Type: application/json"}, headers...)
	}
	return k.send(t, method, k.ordered+path, []byte(body), headers...)
}

func (k *keeper) send(t testing.TB, method, target string, body []byte, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+k.token)
	for _, line := range headers {
		if name, value, given := strings.Cut(line, ": "); given {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r := reply{status: response.StatusCode, header: response.Header}
	r.body, r.cut = io.ReadAll(response.Body)
	return r
}

// at is the path of a record.
func at(key string) string { return "/records/" + url.PathEscape(key) }

// bodyAt is the path of a section's body.
func bodyAt(key, section string) string { return at(key) + "/sections/" + section + "/body" }

// publication is a publication of bodies as JSON.
func publication(operation string, bodies map[string]string) string {
	p := holdfast.Publication{OperationID: operation, Sections: &holdfast.Sections{}}
	for section, body := range bodies {
		(*p.Sections)[section] = holdfast.SectionBody{Body: []byte(body)}
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(text)
}

// create publishes a record that must be new.
func (k *keeper) create(t testing.TB, key string, bodies map[string]string) holdfast.Receipt {
	t.Helper()
	made := k.ask(t, "PUT", at(key), publication(fmt.Sprintf("create %x", sha256.Sum256([]byte(key))), bodies), "If-None-Match: *")
	if made.status != http.StatusOK {
		t.Fatalf("%q is not created: %d %s", key, made.status, made.body)
	}
	var receipt holdfast.Receipt
	made.into(t, &receipt)
	return receipt
}

// parts are a publication as multipart/form-data.
type parts struct {
	body      bytes.Buffer
	mediaType string
}

func newParts(t testing.TB, described string, bodies map[string]string) *parts {
	t.Helper()
	p := &parts{}
	w := multipart.NewWriter(&p.body)
	p.mediaType = w.FormDataContentType()
	p.add(t, w, "publication", "application/json", described)
	for _, section := range sortedKeys(bodies) {
		p.add(t, w, section, "text/plain; charset=utf-16", bodies[section])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *parts) add(t testing.TB, w *multipart.Writer, name, media, body string) {
	t.Helper()
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"; filename="x"`}, "Content-Type": {media}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, body); err != nil {
		t.Fatal(err)
	}
}

// upload publishes a record in parts.
func (k *keeper) upload(t testing.TB, key string, p *parts, headers ...string) reply {
	t.Helper()
	return k.send(t, "PUT", k.ordered+at(key), p.body.Bytes(), append(headers, "Content-Type: "+p.mediaType)...)
}
