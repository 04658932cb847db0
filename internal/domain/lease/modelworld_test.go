package lease

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// stored is the model's world as the database would keep it.
type stored struct {
	head       head
	known      map[string]knownEntry // all entries that have an id
	rejections map[journal.Actor]rejection
	waiters    []waiter
}

// bench is a Service on whose decisions nothing but the model's world lies.
type bench struct {
	*Service
	tenant domain.TenantID
	ref    worldRef

	// Of the move that is being made.
	faults  fault
	doing   moveKind
	clock   time.Time
	world   stored
	entries []journal.Entry // that it wrote
	broke   error           // a decision would have broken the journal's rules
}

// newBench makes a service whose router leads nowhere.
func newBench(t *testing.T) *bench {
	t.Helper()
	const nowhere = "postgres://127.0.0.1:1/nowhere"
	router, err := postgres.Open(t.Context(), postgres.Settings{
		Control: nowhere, Data: []postgres.Location{{Name: "data1", URL: nowhere}}, Placement: postgres.Spread("data1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	b := &bench{Service: New(router, testSecrets("server"), Options{})}
	b.deciding = tenancy.NewSharer("model", b.tracer, b.decideHere)
	b.tenant = domain.DeriveID[domain.TenantKind]([]byte("tenants"), "model")
	if b.ref, err = refOf("model"); err != nil {
		t.Fatal(err)
	}
	return b
}

// decideHere is a transaction: it loads the world, has the decisions made, and
// keeps what they wrote.
func (b *bench) decideHere(_ context.Context, _ *postgres.Database, _ domain.TenantID, all []*decision) error {
	t := &turn{ref: b.ref, locked: b.load(all), decisions: all, exists: true}
	truth := b.lie(t.locked)
	t.decide()
	truth()
	if b.broke = t.locked.fault; b.broke != nil {
		return b.broke
	}
	if b.has(forgetsEvidence) && slices.ContainsFunc(all, func(d *decision) bool { return d.refused != nil }) {
		return nil
	}
	if t.locked.changed || len(t.locked.entries) > 0 {
		b.keep(t.locked)
	}
	return nil
}

// load reads what decisions look at, and no more than they read in a database.
func (b *bench) load(all []*decision) *locked {
	w := &locked{head: b.world.head, now: later(b.clock, b.world.head.LastAt), known: map[string]knownEntry{}, rejections: map[journal.Actor]*rejection{}}
	for _, d := range all {
		for _, id := range d.ids {
			if k, is := b.world.known[id]; is {
				w.known[id] = k
			}
		}
		if d.line && w.awaited {
			w.waiters = slices.Clone(b.world.waiters)
		}
	}
	if w.rejected {
		for caller, r := range b.world.rejections {
			w.rejections[caller] = &r
		}
	}
	return w
}

// keep writes what decisions wrote.
func (b *bench) keep(w *locked) {
	b.world.head, b.entries = w.head, w.entries
	b.world.known = maps.Clone(b.world.known)
	for _, e := range w.entries {
		if e.EntryID != "" {
			b.world.known[e.EntryID] = knownOf(e)
		}
	}
	b.world.rejections = maps.Clone(b.world.rejections)
	for caller, r := range w.rejections {
		switch {
		case !w.rejected:
			delete(b.world.rejections, caller)
		case r.changed:
			kept := *r
			kept.changed = false
			b.world.rejections[caller] = kept
		}
	}
	if w.waiters == nil {
		return
	}
	b.world.waiters = nil
	for _, waiting := range w.waiters {
		if !waiting.gone {
			waiting.changed = false
			b.world.waiters = append(b.world.waiters, waiting)
		}
	}
}

// node is who acts in the model.
type node int

const (
	nobody node = iota
	nodeA
	nodeB
	hosted // a client that writes through the coordinator
	nodeCount
)

func (n node) String() string { return [...]string{"nobody", "a", "b", "client"}[n] }

func (b *bench) scope(n node) tenancy.Scope {
	return tenancy.Scope{Tenant: b.tenant, Principal: domain.DeriveID[domain.PrincipalKind]([]byte("principals"), n.String())}
}

// nodeOf is whose principal an actor is; nobody for the coordinator.
func (b *bench) nodeOf(actor journal.Actor) node {
	for n := nodeA; n < nodeCount; n++ {
		if actor == actorOf(b.scope(n)) {
			return n
		}
	}
	return nobody
}
