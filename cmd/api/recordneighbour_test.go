package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// visible is all that a caller sees of an answer, but for the request's id, the time,
// and what it named itself.
func (r reply) visible(named ...string) map[string]string {
	seen := map[string]string{"status": fmt.Sprint(r.status)}
	for name, values := range r.header {
		if name != "Date" && name != "X-Request-Id" && name != "Ratelimit" { // which tells the caller's own pace
			seen[name] = strings.Join(values, ", ")
		}
	}
	replaced := []string{r.header.Get("X-Request-Id"), "<request>"}
	for _, name := range named {
		replaced = append(replaced, name, "<named>")
	}
	seen["body"] = strings.NewReplacer(replaced...).Replace(r.text())
	return seen
}

// R5: a digest that only another tenant has is, in all that a tenant can ask, like
// one that nobody has.
func TestNeighbour_ADigestOfAnothersBodyIsLikeOneThatNobodyHas(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "secret", map[string]string{"items": "the secret"})
		neighbour := *k
		neighbour.owner = k.tenant(t, k.api, "neighbour", tenancy.TenantScopes()...)
		if _, err := k.operator(t, k.api).SetStorageWithResponse(t.Context(), neighbour.owner.id, holdfast.SetStorage{RecordFormat: 2}); err != nil {
			t.Fatal(err)
		}
		neighbour.token = k.buyToken(t, neighbour.owner.key)
		neighbour.ask(t, "PUT", "", `{}`)
		neighbour.create(t, "own", map[string]string{"items": "own"})
		theirs, nobodys := fmt.Sprintf("%x", sha256.Sum256([]byte("the secret"))), fmt.Sprintf("%x", sha256.Sum256([]byte("no secret.")))
		for name, ask := range map[string]func(digest string) reply{
			"expected of a record": func(digest string) reply {
				return neighbour.ask(t, "PUT", at("own"), `{"operation_id":"o","expect":{"items":"`+digest+`"},"tombstones":["items"]}`)
			},
			"expected of a record that isn't there": func(digest string) reply {
				return neighbour.ask(t, "PUT", at("secret"), `{"operation_id":"o","expect":{"items":"`+digest+`"},"tombstones":["items"]}`)
			},
			"a body that is had": func(digest string) reply {
				return neighbour.ask(t, "GET", bodyAt("own", "items"), "", `If-None-Match: "`+digest+`"`)
			},
			"a body that isn't there": func(digest string) reply {
				return neighbour.ask(t, "GET", bodyAt("secret", "items"), "", `If-None-Match: "`+digest+`"`)
			},
		} {
			if diff := cmp.Diff(ask(nobodys).visible(nobodys), ask(theirs).visible(theirs)); diff != "" {
				t.Errorf("%s (-nobody's +another's)\n%s", name, diff)
			}
		}
		// Who has the bytes publishes them as anybody's: they are sent to the store,
		// and read back, as bytes are that nobody has.
		exchanges := func(body string) (map[string]int, reply) {
			before := map[string]int{"PUT": k.network.Count("PUT"), "GET": k.network.Count("GET")}
			made := neighbour.ask(t, "PUT", at(body), publication(fmt.Sprintf("%x", body), map[string]string{"items": body}), "If-None-Match: *")
			return map[string]int{"PUT": k.network.Count("PUT") - before["PUT"], "GET": k.network.Count("GET") - before["GET"]}, made
		}
		unknown, first := exchanges("no secret.")
		known, second := exchanges("the secret")
		if !maps.Equal(unknown, known) || unknown["PUT"] != 1 || first.status != http.StatusOK || second.status != http.StatusOK {
			t.Errorf("unknown bytes took %v to %d, another's took %v to %d", unknown, first.status, known, second.status)
		}
	})
}

func TestNeighbour_ASuspendedTenantHasNoRecords(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	k.create(t, "a", map[string]string{"items": "hello"})
	if _, err := k.operator(t, k.api).SuspendTenantWithResponse(t.Context(), k.owner.id); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"GET", at("a"), ""},
		{"GET", bodyAt("a", "items"), ""},
		{"POST", bodyAt("a", "items") + "/presign", ""},
		{"PUT", at("a"), publication("o", map[string]string{"items": "x"})},
		{"GET", "/export", ""},
	} {
		if got := k.ask(t, c.method, c.path, c.body, `If-Match: "1"`); got.status != http.StatusForbidden || !strings.Contains(got.problem(t).Code, "suspended") {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
		}
	}
}

func TestLease_ABoundCollectionIsChangedByWhoHoldsItsWorld(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	client := connect(t, k.api, k.owner.key)
	k.ordered = k.api.url + "/v1/collections/north-7:orders"
	k.ask(t, "PUT", "", `{"bind_world":true}`).expectProblem(t, http.StatusConflict, "world_not_found")
	if _, err := client.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: "north-7"}); err != nil {
		t.Fatal(err)
	}
	var made holdfast.Collection
	k.ask(t, "PUT", "", `{"bind_world":true}`).into(t, &made)
	if made.WorldID == nil || *made.WorldID != "north-7" {
		t.Fatalf("bound to %v", made.WorldID)
	}
	k.create(t, "hosted", map[string]string{"items": "one"}) // the coordinator holds it
	acquired, err := client.AcquireLeaseWithResponse(t.Context(), "north-7", holdfast.LeaseRequest{RequestID: "r", TermSeconds: ptr(int64(600))})
	if err != nil {
		t.Fatal(err)
	}
	grant := *acquired.JSON200
	journal, err := client.ReadJournalWithResponse(t.Context(), "north-7", &holdfast.ReadJournalParams{After: ptr(grant.HandoffPosition - 1)})
	if err != nil {
		t.Fatal(err)
	}
	held := "Holdfast-Lease: " + presented(grant)
	changes := []struct{ name, method, path, body, precondition string }{
		{"publish", "PUT", at("hosted"), publication("o1", map[string]string{"items": "two"}), `If-Match: "1"`},
		{"publish many", "POST", "/publish", `{"items":[{"key":"x","operation_id":"o2","if_absent":true,"sections":{"items":{"body":""}}}]}`, ""},
		{"claim", "POST", "/batches", `{"batch_id":"b","owner":"w","items":["y"]}`, ""},
		{"delete", "DELETE", at("hosted"), "", `If-Match: "2"`},
	}
	for _, c := range changes {
		for what, header := range map[string]string{"nothing": "", "another lease": "Holdfast-Lease: 1.AAAA"} {
			got := k.ask(t, c.method, c.path, c.body, c.precondition, header)
			if !strings.Contains(got.text(), `"fenced"`) || !strings.Contains(got.text(), `"epoch":2`) {
				t.Errorf("%s with %s: %d %s", c.name, what, got.status, got.body)
			}
		}
		k.ask(t, c.method, c.path, c.body, c.precondition, "Holdfast-Lease: x").expectProblem(t, http.StatusBadRequest, "lease_malformed")
	}
	if _, err := client.ActivateLeaseWithResponse(t.Context(), "north-7", &holdfast.ActivateLeaseParams{HoldfastLease: presented(grant)},
		holdfast.LeaseActivation{ReplayedPosition: grant.HandoffPosition, ChainHash: journal.JSON200.Entries[0].Hash}); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if got := k.ask(t, c.method, c.path, c.body, c.precondition, held); got.status != http.StatusOK || strings.Contains(got.text(), `"problem"`) {
			t.Errorf("%s with the lease: %d %s", c.name, got.status, got.body)
		}
	}
}
