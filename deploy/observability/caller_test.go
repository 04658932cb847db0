package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// caller sends requests with one key's token.
type caller struct {
	url, token string
}

// as buys a token for an API key.
func (in *installation) as(t *testing.T, key string) *caller {
	t.Helper()
	name, secret, found := cutKey(key)
	if !found {
		t.Fatalf("%q is no key", key)
	}
	request, err := http.NewRequestWithContext(t.Context(), "POST", in.url+"/v1/oauth/token", strings.NewReader("grant_type=client_credentials"))
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(name, secret)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	bought := send(t, request)
	return &caller{url: in.url, token: bought.text("access_token")}
}

// cutKey takes apart what is used as a user's name and a password: hf_ID and SECRET.
func cutKey(key string) (name, secret string, found bool) {
	id, secret, found := strings.Cut(strings.TrimPrefix(key, "hf_"), "_")
	return "hf_" + id, secret, found
}

// call sends JSON, with header lines, and gives the answer's.
func (c *caller) call(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	return send(t, request)
}

// answer is what came back, with its JSON object if it was one.
type answer struct {
	t      *testing.T
	asked  string
	status int
	header http.Header
	body   string
	object map[string]any
}

func send(t *testing.T, request *http.Request) answer {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{t: t, asked: request.Method + " " + request.URL.Path, status: response.StatusCode, header: response.Header, body: string(text)}
	json.Unmarshal(text, &a.object) // what isn't an object has none
	return a
}

// is demands a status, and gives the answer.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s answers %d, want %d: %s", a.asked, a.status, status, a.body)
	}
	return a
}

// text is a text of the object, which must be there; a path goes into objects.
func (a answer) text(path ...string) string {
	a.t.Helper()
	value := any(a.object)
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, ok := value.(string)
	if !ok || text == "" {
		a.t.Fatalf("%s: no %v in %d %s", a.asked, path, a.status, a.body)
	}
	return text
}

// number is one of the object, which must be there.
func (a answer) number(name string) int64 {
	a.t.Helper()
	value, ok := a.object[name].(float64)
	if !ok {
		a.t.Fatalf("%s: no %s in %d %s", a.asked, name, a.status, a.body)
	}
	return int64(value)
}
