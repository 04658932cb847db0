package journal_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

const world = "eu-1.harbour"

var (
	tenant = must(domain.ParseID[domain.TenantKind]("0192f0c1-7a3e-7c55-9b3a-4d1f0e5a6b70"))
	start  = time.Date(2026, 11, 7, 9, 30, 0, 250_000_000, time.UTC)

	owner = journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "0192f0c1-7a40-7d02-8f11-6a2b3c4d5e6f"}
	shop  = journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "0192f0c1-7a41-7aaa-a001-000000000001"}
	nodeA = journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "0192f0c1-7a42-7bbb-b002-000000000002"}
	nodeB = journal.Actor{Type: journal.ActorPrincipal, Issuer: "https://id.example/größe", Subject: "node \"b\"\t\u2028€😀"}
	admin = journal.Actor{Type: journal.ActorOperator, Issuer: journal.HoldfastIssuer, Subject: "0192f0c1-7a43-7ccc-8003-000000000003"}
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// book is a journal in the making. Its helpers write as an honest coordinator
// does.
type book struct {
	t       testing.TB
	state   journal.State
	entries []journal.Entry
	now     time.Time
	term    time.Duration // of the next handoffs
	replay  time.Duration // to activate in
}

// newBook is a world at its first entry.
func newBook(t testing.TB) *book {
	b := &book{t: t, state: journal.Begin(tenant, world), now: start, term: 30 * time.Second, replay: time.Minute}
	b.add(journal.Entry{Epoch: 1, Kind: journal.KindWorldCreated, Actor: owner}, journal.Created{})
	return b
}

// after lets time go by.
func (b *book) after(d time.Duration) *book {
	b.now = b.now.Add(d)
	return b
}

// at is the time of the next entry: the clock's, but never before the last.
func (b *book) at() time.Time {
	if b.now.Before(b.state.LastAt) {
		return b.state.LastAt
	}
	return b.now
}

// sealed is an entry behind the last one, chained to it.
func (b *book) sealed(e journal.Entry, details any) journal.Entry {
	b.t.Helper()
	canonical, err := journal.Canonical(details)
	if err != nil {
		b.t.Fatal(err)
	}
	e.Position, e.At, e.Details = b.state.Position+1, b.at(), canonical
	e.Hash = e.Chain(b.state.Hash)
	return e
}

func (b *book) add(e journal.Entry, details any) *book {
	b.t.Helper()
	e = b.sealed(e, details)
	if err := b.state.Apply(e); err != nil {
		b.t.Fatalf("%s: %v", e.Kind, err)
	}
	b.entries = append(b.entries, e)
	return b
}

func (b *book) writes(by journal.Actor, id string, payload []byte) *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindEntry, Actor: by, EntryID: id, Payload: payload},
		journal.Written{Format: journal.FormatBytes})
}

func (b *book) writesJSON(by journal.Actor, id, value string) *book {
	b.t.Helper()
	payload, err := journal.CanonicalJSON([]byte(value))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindEntry, Actor: by, EntryID: id, Payload: payload},
		journal.Written{Format: journal.FormatJSON})
}

func (b *book) handsTo(by, to journal.Actor) *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch + 1, Kind: journal.KindLeaseHandedOff, Actor: by}, b.handoff(to))
}

func (b *book) handoff(to journal.Actor) journal.HandedOff {
	d := journal.HandedOff{From: b.state.Holder, To: to, Epoch: b.state.Epoch + 1}
	if !to.IsCoordinator() {
		d.TermSeconds = int64(b.term / time.Second)
		d.ActivateBy = journal.Time(b.at().Add(b.replay))
		d.ExpiresAt = journal.Time(b.at().Add(min(b.term, b.replay)))
	}
	return d
}

func (b *book) activates() *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindLeaseActivated, Actor: b.state.Holder},
		journal.Activated{Epoch: b.state.Epoch, ReplayedPosition: b.state.GrantedPosition})
}

func (b *book) renews() *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindLeaseRenewed, Actor: b.state.Holder}, b.renewal())
}

func (b *book) renewal() journal.Renewed {
	until := b.at().Add(time.Duration(b.state.TermSeconds) * time.Second)
	if !b.state.Activated && until.After(b.state.ActivateBy) {
		until = b.state.ActivateBy
	}
	return journal.Renewed{Epoch: b.state.Epoch, TermSeconds: b.state.TermSeconds, ExpiresAt: journal.Time(until)}
}

// revokes takes the lease, for a reason, and grants it to the coordinator.
func (b *book) revokes(by journal.Actor, reason string) *book {
	b.t.Helper()
	return b.revokesOnly(by, reason).grants()
}

func (b *book) revokesOnly(by journal.Actor, reason string) *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindLeaseRevoked, Actor: by}, b.revocation(by, reason))
}

func (b *book) revocation(by journal.Actor, reason string) journal.Revoked {
	return journal.Revoked{Epoch: b.state.Epoch, Reason: reason, By: by, RenewedPosition: b.state.RenewedPosition}
}

func (b *book) grants() *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch + 1, Kind: journal.KindLeaseGranted, Actor: journal.Coordinator}, b.granting())
}

func (b *book) granting() journal.Granted {
	return journal.Granted{Holder: journal.Coordinator, Epoch: b.state.Epoch + 1, GrantedAtPosition: b.state.Position + 1}
}

func (b *book) expires() *book {
	b.t.Helper()
	return b.revokes(journal.Coordinator, journal.ReasonExpiry)
}

func (b *book) rejects(who journal.Actor, presented, count int64) *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindAppendRejected, Actor: who}, b.rejection(who, presented, count))
}

func (b *book) rejection(who journal.Actor, presented, count int64) journal.Rejected {
	return journal.Rejected{
		Holder: who, PresentedEpoch: presented, CurrentEpoch: b.state.Epoch, Count: count,
		FirstAt: journal.Time(b.at().Add(-time.Second)), LastAt: journal.Time(b.at()),
	}
}

func (b *book) advises() *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindAdvice, Actor: journal.Coordinator},
		journal.Advice{Band: "hot", Advise: "spill"})
}

func (b *book) retires() *book {
	b.t.Helper()
	return b.add(journal.Entry{Epoch: b.state.Epoch, Kind: journal.KindWorldRetired, Actor: owner}, journal.Retired{})
}

// story is a world's whole life, with every kind of entry and every way for the
// lease to pass.
func story(t testing.TB) *book {
	b := newBook(t)
	b.after(time.Second).writes(shop, "", []byte("hello"))
	b.after(time.Millisecond).writesJSON(shop, "order-1", `{"item": "Öl", "price": 12.50, "tags": ["a\u2028b", "\ud83d\ude00"]}`)
	b.after(2*time.Second).handsTo(nodeA, nodeA)
	b.after(10 * time.Second).renews()
	b.after(time.Second).activates()
	b.after(time.Microsecond).writes(nodeA, `"turn\1"`, nil)
	b.writesJSON(nodeA, "turn-2", `null`)
	b.rejects(shop, 1, 1)
	b.after(10 * time.Second).renews()
	b.rejects(shop, 0, 127)
	b.after(time.Second).revokes(admin, "the node is to be replaced")
	b.advises()
	b.after(time.Second).handsTo(journal.Coordinator, nodeB)
	b.activates().writes(nodeB, "turn-3", []byte{0, 0xff, '\n'})
	b.after(-time.Minute).handsTo(nodeB, nodeB) // the clock is set back
	b.activates().writes(nodeB, "turn-4", []byte("again"))
	b.handsTo(nodeB, nodeA)
	b.after(3 * time.Minute).expires()
	b.handsTo(nodeA, nodeA).activates().handsTo(nodeA, journal.Coordinator)
	return b.writes(shop, "order-2", []byte("bye")).retires()
}

// ndjson is the journal as the API gives it in bulk.
func ndjson(entries []journal.Entry) []byte {
	var text []byte
	for i := range entries {
		text = append(entries[i].AppendJSON(text), '\n')
	}
	return text
}
