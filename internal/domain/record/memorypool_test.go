package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const poolTenants = 4

// taker is somebody who asks a pool for bytes.
type taker struct {
	tenant  domain.TenantID
	bytes   int64
	leave   context.CancelFunc
	settled chan struct{} // closed once it has them, or has left
	release func()        // behind settled; nil for who has left
}

func (a *taker) waits() bool {
	select {
	case <-a.settled:
		return false
	default:
		return true
	}
}

// poolRun is a pool, and those who have something of it or wait.
type poolRun struct {
	*memoryPool
	takers []*taker
}

func (r *poolRun) ask(ctx context.Context, tenant byte, bytes int64) {
	ctx, leave := context.WithCancel(ctx)
	a := &taker{tenant: domain.TenantID{tenant}, bytes: min(bytes, r.share), leave: leave, settled: make(chan struct{})}
	r.takers = append(r.takers, a)
	go func() {
		defer close(a.settled)
		a.release, _ = r.take(ctx, a.tenant, bytes)
	}()
}

// end has a taker give back what it has, or leave if it waits.
func (r *poolRun) end(n int) error {
	a := r.takers[n]
	r.takers = append(r.takers[:n:n], r.takers[n+1:]...)
	waited := a.waits()
	a.leave()
	<-a.settled
	if waited != (a.release == nil) {
		return fmt.Errorf("one that waited (%v) has bytes: %v", waited, a.release != nil)
	}
	if a.release != nil {
		a.release()
		a.release() // changes nothing
	}
	return r.judge()
}

// judge holds the pool to what it promises, once nobody moves any more.
func (r *poolRun) judge() error {
	synctest.Wait()
	held, waiting, total := map[domain.TenantID]int64{}, map[domain.TenantID]bool{}, int64(0)
	for _, a := range r.takers {
		switch {
		case a.waits():
			waiting[a.tenant] = true
		case a.release == nil:
			return errors.New("somebody left who wasn't told to")
		default:
			held[a.tenant] += a.bytes
			total += a.bytes
		}
	}
	if total > r.total {
		return fmt.Errorf("%d bytes are held, of %d", total, r.total)
	}
	for tenant, bytes := range held {
		if bytes > r.share {
			return fmt.Errorf("%v has %d bytes, of %d", tenant, bytes, r.share)
		}
	}
	for tenant := range waiting {
		// There is room for anybody: who waits, waits for its own tenant.
		if r.total-total >= r.share && held[tenant] == 0 {
			return fmt.Errorf("%v waits, and has nothing, while %d of %d bytes are free", tenant, r.total-total, r.total)
		}
	}
	users := 0
	for tenant, of := range r.tenants {
		users += of.users
		if rest := r.share - held[tenant]; !waiting[tenant] {
			if !of.free.TryAcquire(rest) {
				return fmt.Errorf("%v has lost some of its share", tenant)
			}
			of.free.Release(rest)
		}
	}
	if users != len(r.takers) {
		return fmt.Errorf("%d users are counted, of %d", users, len(r.takers))
	}
	return nil
}

// play does what the steps say, and has all who still wait get theirs then.
func (r *poolRun) play(ctx context.Context, steps []poolStep) error {
	for _, s := range steps {
		if n := len(r.takers); s.end && n > 0 {
			if err := r.end(s.number % n); err != nil {
				return err
			}
			continue
		}
		r.ask(ctx, byte(s.number%poolTenants), s.bytes)
		if err := r.judge(); err != nil {
			return err
		}
	}
	for len(r.takers) > 0 {
		n := slices.IndexFunc(r.takers, func(a *taker) bool { return !a.waits() })
		if n < 0 {
			return fmt.Errorf("%d wait for nobody", len(r.takers))
		}
		if err := r.end(n); err != nil {
			return err
		}
	}
	if !r.idle() {
		return errors.New("somebody has kept something")
	}
	return nil
}

// poolStep has somebody ask for bytes, or has one of those who did end.
type poolStep struct {
	end    bool
	number int // picks the tenant, or who ends
	bytes  int64
}

var poolSteps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) poolStep {
	return poolStep{rapid.IntRange(0, 2).Draw(t, "end") == 0, rapid.IntRange(0, 1<<20).Draw(t, "number"), rapid.Int64Range(0, 24).Draw(t, "bytes")}
}), 1, 200)

// Whatever comes, nobody has more than it may, nobody waits for what is free, and
// who gives up leaves nothing behind.
func TestMemoryPool_KeepsItsBounds_AndLetsNobodyWaitInVain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(check *rapid.T) {
		total, steps := rapid.Int64Range(2, 40).Draw(check, "total"), poolSteps.Draw(check, "steps")
		var err error // rapid can't be told in the bubble
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			err = (&poolRun{memoryPool: newMemoryPool(total)}).play(ctx, steps)
		})
		if err != nil {
			check.Fatal(err)
		}
	})
}

// idle tells that nobody has anything of the pool, or waits.
func (p *memoryPool) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tenants) > 0 || !p.free.TryAcquire(p.total) {
		return false
	}
	p.free.Release(p.total)
	return true
}

// A tenant's requests are served in the order in which they came, and however many
// they are, the other tenants' aren't among them.
func TestMemoryPool_WhoWaitsForItsOwnTenant_HoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &poolRun{memoryPool: newMemoryPool(16)}
		for _, bytes := range []int64{6, 6, 1, 100} { // of one tenant, whose share is 8
			r.ask(t.Context(), 1, bytes)
			synctest.Wait()
		}
		r.ask(t.Context(), 2, 8)
		synctest.Wait()
		want := []bool{false, true, true, true, false}
		for n, a := range r.takers {
			if a.waits() != want[n] {
				t.Errorf("the %d. waits: %v", n+1, a.waits())
			}
		}
		for _, a := range r.takers {
			<-a.settled
			a.release()
			synctest.Wait()
		}
		if !r.idle() {
			t.Error("somebody has kept something")
		}
	})
}
