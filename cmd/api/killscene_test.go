package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// patience is how long a caller waits for an answer. None should come close: to
// wait behind somebody's leavings is a fault.
const patience = 10 * time.Second

// scene is a tenant of one death's own, with the keys that it is about.
type scene struct {
	customer
	death
	handle, email string
	account       string // the id of an account that was there before
}

func (k *killing) stage(t *testing.T, process *running, w work, n int, d death) *scene {
	t.Helper()
	return &scene{
		customer: k.tenant(t, process, fmt.Sprintf("killed-%d", n)),
		death:    d,
		handle:   k.keyOn(w.handle, "ada-%d"),
		email:    k.keyOn(w.email, "ada-%d@example.com"),
	}
}

// keyOn is the first key of that form whose claim lies on the database.
func (k *killing) keyOn(database, format string) string {
	placement := k.installation.Settings(postgres.RoleAPI).Placement
	for i := 0; ; i++ {
		if key := fmt.Sprintf(format, i); placement[domain.NumberOf(key)] == database {
			return key
		}
	}
}

// client asks once and waits for a bounded time.
func (k *killing) client(t *testing.T, process *running, s *scene) *holdfast.ClientWithResponses {
	t.Helper()
	return connect(t, process, s.key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(&http.Client{Timeout: patience}))
}

// expectServed holds a process that has just been started to what its predecessor
// left: each key leads to the committed account that holds it, or to nothing; and
// whoever wants it is told at once that it is theirs, taken, or to be tried again.
func (k *killing) expectServed(t *testing.T, process *running, s *scene) {
	t.Helper()
	client := k.client(t, process, s)
	k.expectNoOrphan(t, client, s)
	holders := k.directory.holders(t, s.id)
	for key, rival := range s.rivals("rival") {
		_, err := client.CreateAccountWithResponse(t.Context(), nil, rival)
		_, held := holders[key]
		switch {
		case held && isTaken(err):
		case !held && (err == nil || isPending(err)):
		default:
			t.Errorf("%s: a rival for %s, which is held: %v, got %v", s.name, key, held, err)
		}
	}
	k.expectNoOrphan(t, client, s)
}

// expectUsable says that no key is lost: it leads to who holds it, or is held in
// a tombstone's quarantine, or anybody's to take.
func (k *killing) expectUsable(t *testing.T, process *running, s *scene) {
	t.Helper()
	client := k.client(t, process, s)
	k.expectNoOrphan(t, client, s)
	holders := k.directory.holders(t, s.id)
	for key, taker := range s.rivals("taker") {
		_, err := client.CreateAccountWithResponse(t.Context(), nil, taker)
		if _, held := holders[key]; held && !isTaken(err) || !held && err != nil {
			t.Errorf("%s: a taker of %s, which is held: %v, got %v", s.name, key, held, err)
		}
	}
	k.expectNoOrphan(t, client, s)
}

// expectNoOrphan looks the scene's keys up.
func (k *killing) expectNoOrphan(t *testing.T, client *holdfast.ClientWithResponses, s *scene) {
	t.Helper()
	visible := map[string]string{}
	for _, account := range words(t, k.directory, `
SELECT account_id::text FROM accounts WHERE tenant_id = $1::text::uuid AND status <> 'deleted'`, s.id) {
		visible[account] = account
	}
	holders := k.directory.holders(t, s.id)
	for key, lookup := range map[string]holdfast.LookupKey{s.handle: {Handle: &s.handle}, s.email: {Email: &s.email}} {
		var got string
		found, err := client.LookupAccountWithResponse(t.Context(), lookup)
		switch {
		case err == nil:
			got = found.JSON200.ID
		case !holdfast.IsCode(err, "account_not_found"):
			t.Errorf("%s: look %s up: %v", s.name, key, err)
			continue
		}
		if want := visible[holders[key]]; got != want {
			t.Errorf("%s: %s leads to %q, and is held by %q", s.name, key, got, want)
		}
	}
}

// rivals are requests for one of the keys each, by key.
func (s *scene) rivals(name string) map[string]holdfast.NewAccount {
	return map[string]holdfast.NewAccount{s.handle: {Handle: s.handle}, s.email: withEmail(name, s.email)}
}
