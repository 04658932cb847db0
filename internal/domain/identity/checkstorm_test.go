package identity

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// dyingNowAndThen makes its process stop at a point, one time in so many.
type dyingNowAndThen int

func (n dyingNowAndThen) Reach(context.Context, string) error {
	if rand.IntN(int(n)) == 0 {
		return errCrash
	}
	return nil
}

// While accounts are made, changed and deleted, addresses go back and forth,
// devices are approved and revoked, and processes die amid all that, checks find
// nothing: everything is always as it may be.
func TestCheck_AmidAStorm_FindsNothing(t *testing.T) {
	t.Parallel()
	options := Options{Deadline: 200 * time.Millisecond}
	d := newDirectory(t, options)
	mortal := options
	mortal.Faults = dyingNowAndThen(40)
	var deeds atomic.Int64
	var all sync.WaitGroup
	done := make(chan struct{})
	during := func(d *directory, life func(d *directory, n int) error) {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				switch err := life(d, n); domain.KindOf(err) {
				case domain.KindConflict, domain.KindNotFound, domain.KindPreconditionFailed, domain.KindUnavailable: // of operations that took too long
				default:
					if err != nil && !stopped(err) {
						t.Errorf("amid the storm: %v", err)
					}
				}
				deeds.Add(1)
			}
		})
	}
	for w := range 3 {
		during(d.with(options), func(d *directory, n int) error { return d.moveAddress(w, n) })
	}
	during(d.with(options), func(d *directory, n int) error { return d.liveAndDie("steady", n) })
	during(d.with(mortal), func(d *directory, n int) error { return d.liveAndDie("mortal", n) })
	during(d.with(mortal), func(d *directory, n int) error { return d.moveAddress(3, n) })

	var events int64
	for range 15 {
		events = d.expectSound(t).Events
	}
	close(done)
	all.Wait()
	if n := deeds.Load(); n < 50 || events < 50 {
		t.Errorf("that was no storm: %d deeds, %d events", n, events)
	}
	d.expire(t)
	d.sweepAll(t)
	if census := d.expectSound(t); census.Pending > 0 || census.Residue > 0 {
		t.Errorf("behind the storm: %+v", census)
	}
}

// The same with a cleanup that finds everything old at once.
func TestCheck_BesideACleanup_FindsNothing(t *testing.T) {
	t.Parallel()
	options := Options{Quarantine: time.Microsecond, Retention: time.Microsecond}
	d := newDirectory(t, options)
	router := d.in.Router(t, postgres.RoleWorker)
	cleaner := New(router, testSecrets("server"), options)
	var cleaned atomic.Int64
	var all sync.WaitGroup
	done := make(chan struct{})
	until := func(work func(n int) error) {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := work(n); err != nil {
					t.Errorf("beside the checks: %v", err)
					return
				}
			}
		})
	}
	until(func(n int) error { return d.liveAndDie("first", n) })
	until(func(n int) error { return d.liveAndDie("second", n) })
	until(func(n int) error {
		for _, task := range CleanupTasks() {
			for _, db := range router.Databases() {
				for _, number := range db.Numbers {
					step, err := cleaner.Cleanup(context.Background(), db.Name, task, number, 50)
					cleaned.Add(int64(step.Recovered))
					if err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	for range 15 {
		d.expectSound(t)
	}
	close(done)
	all.Wait()
	if n := cleaned.Load(); n < 20 {
		t.Errorf("only %d were cleaned up", n)
	}
}

// moveAddress gives an account another address, and then the first again.
func (d *directory) moveAddress(w, n int) error {
	ctx := context.Background()
	a, err := d.LookupHandle(ctx, d.scope, numbered("mover-%d", w))
	if domain.KindOf(err) == domain.KindNotFound {
		_, err = d.tryCreate(ctx, numbered("mover-%d", w), "")
	}
	if err != nil || a.ID.IsZero() {
		return err
	}
	email := numbered("there-%d@example.com", w)
	if n%2 == 0 {
		email = numbered("back-%d@example.com", w)
	}
	change, err := d.BeginEmailChange(ctx, d.scope, a.ID, BeginEmailChange{Email: email})
	if err != nil {
		return err
	}
	_, err = d.ConfirmEmailChange(ctx, d.scope, a.ID, change.ID, change.Code)
	return err
}

// liveAndDie makes an account, changes it, gives it a device, and ends both.
func (d *directory) liveAndDie(name string, n int) error {
	ctx := context.Background()
	made, err := d.tryCreate(ctx, numbered(name+"-%d", n), name+"@example.com")
	if err != nil {
		return err
	}
	a, err := d.Patch(ctx, d.scope, made.Account.ID, 1, AccountPatch{DisplayName: new(new("somebody"))})
	if err != nil {
		return err
	}
	device, err := d.CreateDevice(ctx, d.scope, CreateDevice{})
	if err != nil {
		return err
	}
	approved, err := d.ApproveDevice(ctx, d.scope, CodeGuess{UserCode: device.UserCode.String(), Account: a.ID})
	if err != nil {
		return err
	}
	if n%2 == 0 {
		if err := d.RevokeDevice(ctx, d.scope, approved.ID, approved.Revision); err != nil {
			return err
		}
	}
	return d.Delete(ctx, d.scope, a.ID, a.Revision)
}
