package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/purge"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// ways are calls of every sort that a tenant makes, on one process.
func (s *subject) ways(t *testing.T, r *running) map[string]func() error {
	client := connect(t, r, s.owner.key)
	device := *s.newDevice(t).DeviceCode
	return map[string]func() error{
		"create an account": func() error {
			_, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "late"})
			return err
		},
		"append": func() error {
			_, err := client.AppendEntriesWithResponse(t.Context(), s.world, nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: "late", JSON: json.RawMessage(`1`)}}})
			return err
		},
		"acquire a lease": func() error {
			_, err := client.AcquireLeaseWithResponse(t.Context(), s.world, holdfast.LeaseRequest{RequestID: "late"})
			return err
		},
		"follow a journal": func() error {
			response, err := s.follow(t, r)
			if err == nil {
				response.Body.Close()
			}
			return err
		},
		"read a record": func() error {
			_, err := client.GetRecordWithResponse(t.Context(), s.collection, s.key, nil)
			return err
		},
		"poll with a device": func() error { return s.poll(r, device) },
		"buy a token": func() error {
			_, err := connect(t, r, s.owner.key).ListWorldsWithResponse(t.Context(), nil)
			return err
		},
	}
}

// poll asks for a device's tokens, and gives the refusal as an error of its code. That
// nobody has approved it yet is none.
func (s *subject) poll(r *running, deviceCode string) error {
	response, err := http.PostForm(r.url+"/v1/oauth/token", url.Values{
		"grant_type": {tenancy.GrantTypeDeviceCode}, "client_id": {s.client}, "device_code": {deviceCode},
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var refused struct{ Error string }
	if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
		return err
	}
	if refused.Error == tenancy.GrantAuthorizationPending || refused.Error == tenancy.GrantSlowDown {
		return nil
	}
	return &holdfast.Error{Problem: holdfast.Problem{Code: refused.Error}}
}

func expectRefused(t *testing.T, when string, ways map[string]func() error, code string) {
	t.Helper()
	for name, way := range ways {
		if err := way(); !holdfast.IsCode(err, code) {
			t.Errorf("%s: to %s is %v, want %s", when, name, err, code)
		}
	}
}

// What an operator says of a tenant on one process holds at once on every other one:
// when the call returns, nothing of the tenant is admitted anywhere, and nothing that
// was admitted before goes on.
func TestTenant_SuspensionAndDeletionHoldAtOnceOnEveryProcess(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	second := s.serve(t, testkit.BodiesEnviron(testkit.BodyStore(t))...)
	ways, operator := s.ways(t, second), s.operator(t, s.api)
	for name, way := range ways {
		if name == "acquire a lease" {
			continue // with it, Holdfast would take no entries of others
		}
		if err := way(); err != nil {
			t.Fatalf("to %s: %v", name, err)
		}
	}
	stream, err := s.follow(t, second)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := operator.SuspendTenantWithResponse(t.Context(), s.owner.id); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, "suspended", ways, "tenant_suspended")
	expectEnded(t, stream)
	if _, err := operator.ResumeTenantWithResponse(t.Context(), s.owner.id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is served again", func() bool { return ways["read a record"]() == nil && ways["poll with a device"]() == nil })

	s.askDeletion(t, s.owner.id)
	if err := ways["read a record"](); err != nil {
		t.Errorf("asked for, and not approved: %v", err)
	}
	asker := connect(t, s.api, s.anotherOperator(t, s.api, "both", "operator:tenants", "operator:approve", "operator:read"))
	other := s.ending(t, s.fresh.Add(1))
	etag := s.tenantETag(t, other)
	if _, err := asker.DeleteTenantWithResponse(t.Context(), other, &holdfast.DeleteTenantParams{IfMatch: &etag}); err != nil {
		t.Fatal(err)
	}
	if _, err := asker.ApproveTenantDeletionWithResponse(t.Context(), other, s.deletionAsked(t, other)); !holdfast.IsCode(err, "approver_is_involved") {
		t.Errorf("approved by who asked: %v", err)
	}
	if _, err := operator.ApproveTenantDeletionWithResponse(t.Context(), s.owner.id, s.deletionAsked(t, s.owner.id)); err != nil {
		t.Fatal(err)
	}
	expectRefused(t, "deleting", ways, "tenant_deleting")
	if _, err := operator.ResumeTenantWithResponse(t.Context(), s.owner.id); !holdfast.IsCode(err, "tenant_deleting") {
		t.Errorf("resumed while it is deleted: %v", err)
	}
	back, err := operator.CancelTenantDeletionWithResponse(t.Context(), s.owner.id)
	if err != nil || back.JSON200.State != "active" {
		t.Fatalf("called off: %+v, %v", back, err)
	}
	eventually(t, "it is served again", func() bool { return ways["read a record"]() == nil })
}

// follow opens a stream of the journal.
func (s *subject) follow(t *testing.T, r *running) (*http.Response, error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/worlds/"+s.world+"/journal/stream", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.ownerToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode == http.StatusOK {
		return response, err
	}
	defer response.Body.Close()
	var refused struct{ Code string }
	if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
		return nil, err
	}
	return nil, &holdfast.Error{Problem: holdfast.Problem{Code: refused.Code}}
}

// expectEnded reads to the stream's end, which comes with its next look at who reads.
func expectEnded(t *testing.T, stream *http.Response) {
	t.Helper()
	defer stream.Body.Close()
	done := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, stream.Body); done <- err }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("the stream goes on")
	}
}

// exported is an export as it came.
type exported struct {
	kinds   map[string]int
	data    []string // the lines of the tenant's own
	cursors map[string]int
	ended   bool
}

func (s *subject) export(t *testing.T, cursor *string) exported {
	t.Helper()
	response, err := s.operator(t, s.api).ClientInterface.ExportTenant(t.Context(), s.owner.id, &holdfast.ExportTenantParams{Cursor: cursor})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	e := exported{kinds: map[string]int{}, cursors: map[string]int{}}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line struct {
			Kind string
			Data struct{ Cursor string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		switch line.Kind {
		case "cursor":
			e.cursors[line.Data.Cursor] = len(e.data)
		case "end":
			e.ended = true
		default:
			e.kinds[line.Kind]++
			e.data = append(e.data, lines.Text())
		}
	}
	if !e.ended {
		t.Fatalf("the export has no end: %v", lines.Err())
	}
	return e
}

// A tenant's end from its last export to the tombstone, over the API.
func TestTenant_IsExportedAndPurged(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	operator := s.operator(t, s.api)
	owner := connect(t, s.api, s.owner.key)
	_, err := owner.AppendEntriesWithResponse(t.Context(), s.world, nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: "one", JSON: json.RawMessage(`{"a": 1}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	served, digest := s.export(t, nil), s.digestOf(t)
	for _, kind := range []string{"tenant", "principal", "api_key", "client", "account", "device", "event", "world", "journal_entry", "collection", "record", "section", "receipt"} {
		if served.kinds[kind] == 0 {
			t.Errorf("no %s is exported: %v", kind, served.kinds)
		}
	}
	for _, line := range served.data {
		for _, secret := range []string{"hash\":\"\\\\x", "secret", "token", "fingerprint", s.owner.key} {
			if strings.Contains(line, secret) && !strings.Contains(line, `"kind":"principal"`) {
				t.Errorf("%q is in %s", secret, line)
			}
		}
	}
	// Each cursor goes on exactly where it stands.
	cursors := slices.Sorted(maps.Keys(served.cursors))
	for _, cursor := range []string{cursors[0], cursors[len(cursors)/2], cursors[len(cursors)-1]} {
		if rest := s.export(t, &cursor); !slices.Equal(rest.data, served.data[served.cursors[cursor]:]) {
			t.Errorf("behind a cursor come %d lines, want %d", len(rest.data), len(served.data)-served.cursors[cursor])
		}
	}
	s.expectBody(t, digest)

	if _, err := operator.SuspendTenantWithResponse(t.Context(), s.owner.id); err != nil {
		t.Fatal(err)
	}
	suspended := s.export(t, nil)
	s.askDeletion(t, s.owner.id)
	if _, err := operator.ApproveTenantDeletionWithResponse(t.Context(), s.owner.id, s.deletionAsked(t, s.owner.id)); err != nil {
		t.Fatal(err)
	}
	deleting := s.export(t, nil)
	if !slices.Equal(suspended.data[1:], deleting.data[1:]) || len(deleting.data) != len(served.data) { // the first is the tenant's own state
		t.Errorf("served %d, suspended %d and deleting %d lines", len(served.data), len(suspended.data), len(deleting.data))
	}
	s.expectBody(t, digest)

	neighbours := connect(t, s.api, s.neighbour.key)
	s.purgeNow(t, s.owner.id)
	shown, err := operator.GetTenantDeletionWithResponse(t.Context(), s.owner.id)
	if err != nil || shown.JSON200.Tenant.State != "purged" || shown.JSON200.Purge.Rows == nil || (*shown.JSON200.Purge.Rows)["accounts"] == 0 ||
		shown.JSON200.Purge.ControlRows["api_keys"] != 1 || shown.JSON200.Purge.Objects == 0 {
		t.Fatalf("the tombstone is %+v, %v", shown.JSON200, err)
	}
	// Its keys are gone, its tokens are revoked, and nothing of it can be changed.
	if _, err := connect(t, s.api, s.owner.key).ListWorldsWithResponse(t.Context(), nil); !isStatus(err, http.StatusUnauthorized) {
		t.Errorf("a key of a purged tenant: %v", err)
	}
	eventually(t, "its tokens are revoked", func() bool {
		_, err := owner.ListWorldsWithResponse(t.Context(), nil)
		return isStatus(err, http.StatusUnauthorized)
	})
	for name, err := range map[string]error{
		"export":        last(operator.ExportTenantWithResponse(t.Context(), s.owner.id, nil)),
		"cancel":        last(operator.CancelTenantDeletionWithResponse(t.Context(), s.owner.id)),
		"resume":        last(operator.ResumeTenantWithResponse(t.Context(), s.owner.id)),
		"hold":          last(operator.SetLegalHoldWithResponse(t.Context(), s.owner.id, holdfast.SetLegalHold{Reason: "late"})),
		"new principal": last(operator.CreatePrincipalWithResponse(t.Context(), s.owner.id, nil, holdfast.NewPrincipal{Name: "late", Scopes: []string{"record:read"}})),
	} {
		if !holdfast.IsCode(err, "tenant_purged") {
			t.Errorf("%s of a purged tenant: %v", name, err)
		}
	}
	if _, err := operator.CreateTenantWithResponse(t.Context(), nil, holdfast.NewTenant{Name: "owner"}); err != nil {
		t.Errorf("its name isn't free: %v", err)
	}
	if _, err := neighbours.GetCollectionWithResponse(t.Context(), s.collection); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	random := domain.RandomID[domain.TenantKind]().String()
	if _, err := operator.ExportTenantWithResponse(t.Context(), random, nil); !holdfast.IsCode(err, "tenant_not_found") {
		t.Errorf("of a tenant that nobody made: %v", err)
	}
}

func last[T any](_ T, err error) error { return err }

// expectBody fetches a body of the export, and asks for one that is no more.
func (s *subject) expectBody(t *testing.T, digest string) {
	t.Helper()
	operator := s.operator(t, s.api)
	params := &holdfast.GetExportedBodyParams{Collection: s.collection, Key: s.key, Section: "items", Digest: digest}
	got, err := operator.GetExportedBodyWithResponse(t.Context(), s.owner.id, params)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%x", sha256.Sum256(got.Body)) != digest {
		t.Errorf("the body is %q", got.Body)
	}
	params.Digest = strings.Repeat("0", 64)
	if _, err := operator.GetExportedBodyWithResponse(t.Context(), s.owner.id, params); !holdfast.IsCode(err, "body_changed") {
		t.Errorf("of another digest: %v", err)
	}
	params.Digest = digest
	for range 2 {
		if _, err := operator.GetExportedBodyWithResponse(t.Context(), s.owner.id, params); err != nil {
			t.Error(err)
		}
	}
	log, err := operator.ListAuditWithResponse(t.Context(), &holdfast.ListAuditParams{Operation: ptr("getExportedBody"), TenantID: &s.owner.id})
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[holdfast.AuditEntryOutcome]int{}
	for _, e := range log.JSON200.Entries {
		outcomes[e.Outcome]++
	}
	// Twice where an hour ends in between.
	if n := outcomes["done"]; n < 1 || n > 2 || outcomes["refused"] < 1 {
		t.Errorf("three bodies and a refusal are told by %v", outcomes)
	}
}

// purgeNow has the tenant's grace be over, and does what the worker does then.
func (s *subject) purgeNow(t *testing.T, tenant string) {
	t.Helper()
	admin := s.installation.Admin(t, "control")
	if _, err := admin.Exec(t.Context(), `UPDATE tenant_deletions SET purge_after = now() WHERE tenant_id = $1`, tenant); err != nil {
		t.Fatal(err)
	}
	id, err := domain.ParseID[domain.TenantKind](tenant)
	if err != nil {
		t.Fatal(err)
	}
	router := s.installation.Router(t, postgres.RoleWorker)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	w := purge.New(router, store, testkit.OpenBodies(t, testkit.BodyStore(t)), purge.Options{Settle: time.Nanosecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		more, err := w.Step(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}
