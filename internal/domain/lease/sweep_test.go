package lease

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sweeper is the worker's coordinator on the same databases.
func (c *coordinator) sweeper(t testing.TB) *coordinator {
	t.Helper()
	other := *c
	other.router = c.in.Router(t, postgres.RoleWorker)
	other.Service = New(other.router, nil, Options{Purpose: tenancy.Maintain, Signer: c.signer})
	return &other
}

// sweep does a task wherever it is due, until nothing more is, and gives what it
// did.
func (c *coordinator) sweep(t testing.TB, task Task, limit int) (done SweepStep) {
	t.Helper()
	for _, db := range c.router.Databases() {
		due, err := c.SweepDue(t.Context(), db.Name, task)
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range due {
			for step := (SweepStep{}); !step.Done; {
				if step, err = c.Sweep(t.Context(), db.Name, task, number, limit); err != nil || step.Busy {
					t.Fatalf("sweep %d: busy %v, %v", number, step.Busy, err)
				}
				done.Visited += step.Visited
				done.Recovered += step.Recovered
			}
		}
	}
	return done
}

func TestSweep_EndsALeaseThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	over, standing := c.world(t, "over"), c.world(t, "standing")
	c.hold(t, over)
	c.advance(t, DefaultTerm)
	c.hold(t, standing)
	w := c.sweeper(t)

	if done := w.sweep(t, TaskSettle, 10); done != (SweepStep{Visited: 1, Recovered: 1}) {
		t.Errorf("the sweep did %+v, want the one lease that is over", done)
	}
	state, all := c.replay(t, over)
	if !state.Holder.IsCoordinator() || state.Epoch != 3 {
		t.Errorf("epoch %d is %v's", state.Epoch, state.Holder)
	}
	want := []journal.Kind{journal.KindWorldCreated, journal.KindLeaseHandedOff, journal.KindLeaseActivated, journal.KindLeaseRevoked, journal.KindLeaseGranted}
	if diff := cmp.Diff(want, kinds(all)); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if state, _ := c.replay(t, standing); state.Holder.IsCoordinator() {
		t.Error("a lease that stands was ended")
	}
	if done := w.sweep(t, TaskSettle, 10); done != (SweepStep{}) {
		t.Errorf("a second sweep did %+v", done)
	}
}

// L26: renewals keep a lease that is never activated until its deadline, and the
// sweep ends it then.
func TestSweep_EndsALeaseThatIsRenewedAndNeverActivated(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	grant, err := c.Acquire(t.Context(), c.scope, world, Acquire{RequestID: "one", Replay: 5 * time.Second, Term: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	renewal, err := c.Renew(t.Context(), c.scope, world, Authority{grant.Epoch, grant.Secret})
	if err != nil || renewal.ExpiresAt.After(grant.ActivateBy) {
		t.Errorf("renewed until %v, behind the deadline %v: %v", renewal.ExpiresAt, grant.ActivateBy, err)
	}
	c.advance(t, 5*time.Second)
	_, err = c.Renew(t.Context(), c.scope, world, Authority{grant.Epoch, grant.Secret})
	expectCode(t, err, domain.KindConflict, "lease_expired")
	c.sweeper(t).sweep(t, TaskSettle, 10)
	if state, _ := c.replay(t, world); !state.Holder.IsCoordinator() {
		t.Errorf("the lease is still %v's", state.Holder)
	}
}

// L19: the counts of a client that has given up are journaled without it, exactly.
func TestSweep_JournalsRejectionsThatWereCounted(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	world := c.world(t, "arena")
	c.hold(t, world)
	const attempts = 50
	var clients sync.WaitGroup
	for range attempts {
		clients.Go(func() { c.tryWrite(t, world, nil, "", "fenced") })
	}
	clients.Wait()
	w := c.sweeper(t)
	if done := w.sweep(t, TaskSettle, 10); done.Visited != 0 {
		t.Errorf("%d worlds are due at once", done.Visited)
	}
	c.advance(t, coalesce)
	if done := w.sweep(t, TaskSettle, 10); done.Recovered != 1 {
		t.Errorf("the sweep did %+v", done)
	}
	_, all := c.replay(t, world)
	total, entries := int64(0), 0
	for _, e := range all {
		if e.Kind == journal.KindAppendRejected {
			details, err := journal.DetailsOf[journal.Rejected](&e)
			if err != nil {
				t.Fatal(err)
			}
			total += details.Count
			entries++
		}
	}
	if total != attempts || entries != 2 {
		t.Errorf("%d rejections are journaled in %d entries, want %d in 2", total, entries, attempts)
	}
	c.advance(t, coalesce)
	w.sweep(t, TaskSettle, 10)
	c.expectRows(t, 0, `SELECT count(*) FROM append_rejections`)
	c.expectRows(t, 0, `SELECT count(*) FROM worlds WHERE rejected`)
}

// expectRows adds up a count over all databases.
func (c *coordinator) expectRows(t testing.TB, want int, sql string, args ...any) {
	t.Helper()
	got := 0
	for _, db := range c.router.Databases() {
		var n int
		if err := c.admin[db.Name].QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		got += n
	}
	if got != want {
		t.Errorf("%s gives %d, want %d", sql, got, want)
	}
}

func TestSweep_EmptiesALineWhoseWaitersHaveAllGone(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	left, awaited := c.world(t, "left"), c.world(t, "awaited")
	for _, world := range []string{left, awaited} {
		c.hold(t, world)
		c.advance(t, waitsFor)
		_, err := c.tryWait(t, world)
		expectCode(t, err, domain.KindConflict, "lease_held")
	}
	if done := c.sweeper(t).sweep(t, TaskSettle, 10); done != (SweepStep{Visited: 1, Recovered: 1}) {
		t.Errorf("the sweep did %+v", done)
	}
	c.expectRows(t, 0, `SELECT count(*) FROM lease_waiters WHERE world_id = $1`, left)
	c.expectRows(t, 1, `SELECT count(*) FROM lease_waiters WHERE world_id = $1`, awaited)
	c.expectRows(t, 1, `SELECT count(*) FROM worlds WHERE awaited`)
}

// tryWait stands in line as somebody who is then heard of no more.
func (c *coordinator) tryWait(t testing.TB, world string) (Grant, error) {
	t.Helper()
	ref, err := refOf(world)
	if err != nil {
		t.Fatal(err)
	}
	return c.tryAcquire(t.Context(), c.scope, actorOf(c.scope), ref, Acquire{RequestID: "waiting", Term: DefaultTerm, Replay: DefaultReplay}, true)
}

func TestSweep_LeavesASuspendedTenantsLeasesAndStillServesTheOthers(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	const world = "arena" // one id, so one number: the pages are shared
	other := *c
	other.scope = tenancy.Scope{Tenant: domain.NewID[domain.TenantKind](time.Now()), Principal: c.scope.Principal}
	gates := tenancy.NewGates(c.router)
	open := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "importing"}
	if err := gates.Set(t.Context(), other.scope.Tenant, open); err != nil {
		t.Fatal(err)
	}
	for _, of := range []*coordinator{c, &other} {
		of.world(t, world)
		of.hold(t, world)
	}
	c.advance(t, DefaultTerm)
	c.everywhere(t, `UPDATE tenant_gates SET state = 'suspended' WHERE tenant_id = $1`, c.scope.Tenant)
	if done := c.sweeper(t).sweep(t, TaskSettle, 1); done.Recovered != 1 {
		t.Errorf("the sweep did %+v", done)
	}
	if state, _ := other.replay(t, world); !state.Holder.IsCoordinator() {
		t.Error("the lease of the tenant that is served still stands")
	}
	c.everywhere(t, `UPDATE tenant_gates SET state = 'open' WHERE tenant_id = $1`, c.scope.Tenant)
	if done := c.sweeper(t).sweep(t, TaskSettle, 1); done.Recovered != 1 {
		t.Errorf("behind the suspension the sweep did %+v", done)
	}
}

// L17: ten thousand leases are over together. Two workers end all of them, page by
// page, while others append.
func TestSweep_TenThousandLeasesThatEndTogether(t *testing.T) {
	t.Parallel()
	c := newClocked(t)
	const leases = 10_000
	busy := c.world(t, "busy")
	held := c.world(t, "held")
	c.hold(t, held)
	c.copyWorld(t, held, leases-1)
	c.advance(t, DefaultTerm)

	ctx, swept := context.WithCancel(t.Context())
	appended := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil || n == 0; n++ {
			if _, err := c.tryWrite(t, busy, nil, "", "meanwhile"); err != nil {
				t.Errorf("an append during the sweep: %v", err)
				break
			}
		}
		appended <- n
	}()
	began := time.Now()
	var workers sync.WaitGroup
	for range 2 {
		w := c.sweeper(t)
		workers.Go(func() { w.sweepBeside(t) })
	}
	workers.Wait()
	t.Logf("the last of %d leases was ended after %v", leases, time.Since(began))
	swept()
	if n := <-appended; n == 0 {
		t.Error("nothing was appended during the sweep")
	}
	c.expectRows(t, 0, `SELECT count(*) FROM worlds WHERE holder_issuer IS NOT NULL`)
	c.expectRows(t, leases, `SELECT count(*) FROM journal WHERE kind = 'lease_revoked'`)
	c.expectRows(t, leases, `SELECT count(*) FROM journal WHERE kind = 'lease_granted'`)
	c.replay(t, held)
	c.replay(t, busy)
}

// sweepBeside settles until nothing is due, beside others who do.
func (c *coordinator) sweepBeside(t testing.TB) {
	for more := true; more; {
		more = false
		for _, db := range c.router.Databases() {
			due, err := c.SweepDue(t.Context(), db.Name, TaskSettle)
			if err != nil {
				t.Error(err)
				return
			}
			for _, number := range due {
				more = true
				if _, err := c.Sweep(t.Context(), db.Name, TaskSettle, number, 256); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}
}

// copyWorld makes more worlds that are as one is, each with a journal of its own.
func (c *coordinator) copyWorld(t testing.TB, world string, more int) {
	t.Helper()
	h, _, err := c.readHead(t.Context(), c.scope.Tenant, world)
	if err != nil {
		t.Fatal(err)
	}
	_, all := c.replay(t, world)
	for _, db := range c.router.Databases() {
		var copies writes
		for i := range more {
			ref, err := refOf(fmt.Sprint("copy-", i))
			if err != nil {
				t.Fatal(err)
			}
			if c.router.Database(ref.number) != db {
				continue
			}
			w := &locked{head: head{State: journal.Begin(c.scope.Tenant, ref.id), ref: ref, createdAt: h.createdAt}, known: map[string]knownEntry{}}
			w.secretHash, w.serverKeyID, w.requestID = h.secretHash, h.serverKeyID, h.requestID
			for _, e := range all {
				w.now = e.At
				w.write(e)
			}
			if w.fault != nil {
				t.Fatal(w.fault)
			}
			copies.add(w)
		}
		err := tenancy.Run(t.Context(), db, c.entry(c.scope.Tenant, db.Numbers...), func(_ context.Context, tx *tenancy.Tx) error {
			copies.queue(tx)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
