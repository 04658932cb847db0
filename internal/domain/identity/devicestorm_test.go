package identity

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// deviceLife is what became of one device in a storm, as its parties were told.
type deviceLife struct {
	device   CreatedDevice
	redeemed []Redeemed // of all polls that said so
	unknown  bool       // a poll or a turn of the token may have succeeded unheard
	last     string     // the last refresh token that the device has
	turned   int64      // how often it was turned
}

// While devices are made, approved, redeemed and refreshed, the backends of one
// database after the other are terminated. Everybody goes on until told what
// became of it; and what they were told then is what is true.
func TestBackendsTerminatedAmidDevices_EveryAnswerWasTrue(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	process := d.with(Options{})
	process.router = d.in.Router(t, postgres.RoleAPI)
	process.Service = New(process.router, testSecrets("server"), Options{Deadline: time.Second})

	client := d.client("watch")
	lives := process.stormDevices(t, client, d.create(t, "ada", ""), 60)
	process.router.Close()
	for _, db := range d.router.Databases() {
		db.Pool.Reset()
		d.admin[db.Name].Reset()
	}
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)

	unknown := 0
	for i, l := range lives {
		row := d.deviceRow(t, l.device.ID)
		switch {
		case row.Status != DeviceApproved || row.RedeemedAt == nil || row.Revision != 3:
			t.Errorf("device %d ends as %+v", i, row.Device)
		case len(l.redeemed) > 1:
			t.Errorf("device %d was redeemed %d times", i, len(l.redeemed))
		case len(l.redeemed) == 0 && !l.unknown:
			t.Errorf("device %d was never redeemed, as far as it was told", i)
		case !l.unknown && row.refresh.generation != 1+l.turned:
			t.Errorf("device %d turned its token %d times, and it is the %dth", i, l.turned, row.refresh.generation)
		case !l.unknown:
			if _, err := d.refresh(t.Context(), client, l.last); err != nil {
				t.Errorf("device %d can't go on: %v", i, err)
			}
		}
		if l.unknown {
			unknown++
		}
	}
	t.Logf("%d devices, %d of which missed an answer", len(lives), unknown)
	if unknown == len(lives) {
		t.Error("nobody ever heard an answer")
	}
	d.checkInvariants(t, true)
}

func (d *directory) deviceRow(t testing.TB, id domain.DeviceID) *deviceRow {
	t.Helper()
	for _, row := range d.deviceRows(t) {
		if row.ID == id {
			return row.deviceRow
		}
	}
	t.Fatalf("device %s is not there", id)
	return nil
}

// stormDevices takes n devices through their lives at once, from several callers.
func (d *directory) stormDevices(t *testing.T, client tenancy.Client, owner Account, n int) []*deviceLife {
	t.Helper()
	const callers = 6
	lives := make([]*deviceLife, n)
	next, ended := make(chan int, n), make(chan struct{})
	for i := range n {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range next {
				lives[i] = d.liveThrough(t, client, owner, numbered("tv-%d", i))
			}
		})
	}
	go func() { all.Wait(); close(ended) }()
	for i := 0; ; i++ {
		select {
		case <-ended:
			return lives
		default:
			d.terminateOne(t, d.admin[d.router.Databases()[i%3].Name])
		}
	}
}

// terminateOne ends one backend of an API process in the midst of a statement.
func (d *directory) terminateOne(t *testing.T, admin *pgxpool.Pool) {
	t.Helper()
	_, err := admin.Exec(t.Context(), `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE datname = current_database() AND usename = 'holdfast_api' AND state <> 'idle' AND random() < 0.1 LIMIT 1`)
	if err != nil {
		t.Error(err)
	}
}

// liveThrough takes one device through its life, with everybody trying again
// whatever may be tried again.
func (d *directory) liveThrough(t *testing.T, client tenancy.Client, owner Account, label string) *deviceLife {
	ctx, l := context.Background(), &deviceLife{}
	insist(t, func() (err error) {
		l.device, err = d.CreateDevice(ctx, d.scope, CreateDevice{Label: &label, Client: client, IdempotencyKey: label})
		return err
	})
	insist(t, func() error {
		_, err := d.ApproveDevice(ctx, d.scope, d.guessOf(l.device, owner))
		return err
	})
	insist(t, func() error {
		r, err := d.poll(ctx, client, l.device)
		switch {
		case err == nil:
			l.redeemed, l.last = append(l.redeemed, r), r.RefreshToken
		case domain.KindOf(err) == domain.KindOutcomeUnknown:
			l.unknown = true
		case grantCode(err) == tenancy.GrantInvalidGrant && l.unknown:
			return nil // that one succeeded
		}
		return err
	})
	for range 3 {
		if l.last == "" || l.unknown {
			break // a token that may have been turned must not be shown again
		}
		insist(t, func() error {
			r, err := d.refresh(ctx, client, l.last)
			switch {
			case err == nil:
				l.last = r.RefreshToken
				l.turned++
			case domain.KindOf(err) == domain.KindOutcomeUnknown:
				l.unknown = true
				return nil
			}
			return err
		})
	}
	return l
}

// insist tries again for as long as it is told that it may. It stops at the first
// answer, which must not be a refusal.
func insist(t *testing.T, try func() error) {
	for {
		err := try()
		switch kind := domain.KindOf(err); {
		case err == nil:
			return
		case kind == domain.KindUnavailable, kind == domain.KindOutcomeUnknown, domain.CodeOf(err) == "request_in_flight":
		default:
			t.Errorf("got %v", err)
			return
		}
	}
}
