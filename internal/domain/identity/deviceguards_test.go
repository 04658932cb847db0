package identity

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The decisions on a device are made under its lock. Their statements hold
// themselves to what was decided all the same: here each is run on a device that
// has changed behind its back, and must match nothing.

// attempt runs a statement in the device's bucket, and tells how many rows it
// matched.
func (d *directory) attempt(t testing.TB, record ref, sql string, args ...any) (rows int64) {
	t.Helper()
	err := tenancy.Run(t.Context(), d.router.Database(record.Number), d.entry(d.scope.Tenant, []int16{int16(record.Number)}),
		func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(sql, append([]any{int16(record.Number), record.ID}, args...)...).Exec(func(tag pgconn.CommandTag) error {
				rows = tag.RowsAffected()
				return nil
			})
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestDeviceStatements_HoldThemselvesToWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	pending := func(label string) domain.DeviceID { return d.authorize(t, client, label).ID }
	approved := func(label string) domain.DeviceID {
		device := d.authorize(t, client, label)
		d.approve(t, device, ada)
		return device.ID
	}
	redeemed := func(label string) domain.DeviceID {
		device, _ := d.redeemed(t, client, label, ada)
		return device.ID
	}
	change := func(sql string) func(domain.DeviceID) {
		return func(id domain.DeviceID) { d.everywhere(t, `UPDATE devices SET `+sql+` WHERE device_id = $1`, id) }
	}
	nothing := func(domain.DeviceID) {}
	hash, now := hashSecret([]byte("x")), time.Now()
	approve := func(r int64) []any { return []any{r, r + 1, now, ada.ID} }
	deny := func(r int64) []any { return []any{r, r + 1, now} }
	redeem := func(r int64) []any { return []any{r, r + 1, now, hash, "test", now} }
	type run struct {
		sql  string
		of   func(string) domain.DeviceID
		args func(revision int64) []any
	}
	type broken struct {
		name string
		act  func(domain.DeviceID)
	}
	stale := broken{"another revision", change(`revision = revision + 1`)}
	expired := broken{"an expired code", change(`expires_at = now() - interval '1 hour'`)}
	revoked := broken{"a revoked device", change(`status = 'revoked', refresh_hash = NULL`)}
	tests := []struct {
		name   string
		run    run
		broken []broken
	}{
		{"patch", run{sqlPatchDevice, pending, func(r int64) []any { return []any{r, r + 1, now, "new"} }}, []broken{stale}},
		{"revoke", run{sqlRevokeDevice, pending, deny}, []broken{stale, revoked}},
		{"approve", run{sqlApproveDevice, pending, approve}, []broken{stale, expired, revoked, {"a denied device", change(`status = 'denied'`)}}},
		{"deny", run{sqlDenyDevice, pending, deny}, []broken{stale, expired, revoked}},
		{"redeem", run{sqlRedeemDevice, approved, redeem}, []broken{stale, expired, revoked, {"a redeemed device", change(`redeemed_at = now()`)}}},
	}
	for _, test := range tests {
		for _, b := range append(test.broken, broken{"", nothing}) {
			label := test.name + ": " + b.name
			id := test.run.of(label)
			revision := d.revisions(t)[tenantRecord{d.scope.Tenant, deviceRef(id)}]
			b.act(id)
			rows := d.attempt(t, deviceRef(id), test.run.sql, test.run.args(revision)...)
			if (rows == 0) != (b.name != "") {
				t.Errorf("%s: matched %d rows", label, rows)
			}
		}
	}
	for _, b := range []broken{
		{"another generation", change(`refresh_generation = 2`)},
		{"another token", change(`refresh_hash = decode(repeat('00', 32), 'hex')`)},
		revoked,
		{"an expired chain", change(`refresh_expires_at = now() - interval '1 hour'`)},
		{"", nothing},
	} {
		id := redeemed("rotate: " + b.name)
		var last []byte
		for _, row := range d.deviceRows(t) {
			if row.ID == id {
				last = row.refresh.hash
			}
		}
		b.act(id)
		rows := d.attempt(t, deviceRef(id), sqlRotateRefresh, int64(1), last, int64(2), hash, "test", now.Add(time.Hour), now)
		if (rows == 0) != (b.name != "") {
			t.Errorf("rotate: %s: matched %d rows", b.name, rows)
		}
	}
	for _, status := range []string{"approved", "denied", "revoked", "pending"} {
		id := approved("pace: " + status)
		if status == "denied" || status == "pending" {
			change(`account_id = NULL, approved_at = NULL, status = '` + status + `'`)(id)
		} else {
			change(`status = '` + status + `'`)(id)
		}
		rows := d.attempt(t, deviceRef(id), sqlPaceDevice, int16(5), now, now)
		if (rows == 1) != (status == "pending") {
			t.Errorf("pace of a device %s: matched %d rows", status, rows)
		}
	}
}

// A decision whose statement wrote nothing is stopped by the demand behind it, and
// all of it is rolled back: here the writes are swallowed.
func TestDeviceDecision_ThatWroteNothing_IsStopped(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	waiting, approved := d.authorize(t, client, "waiting"), d.authorize(t, client, "approved")
	d.approve(t, approved, ada)
	redeemed, tokens := d.redeemed(t, client, "redeemed", ada)
	second, err := d.refresh(t.Context(), client, tokens.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	before := d.state(t)
	d.swallow(t, "UPDATE", "devices")
	d.swallow(t, "DELETE", "operations")
	calls := map[string]func() error{
		"create": func() error { _, err := d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{}); return err },
		"patch": func() error {
			_, err := d.PatchDevice(t.Context(), d.scope, waiting.ID, 1, DevicePatch{})
			return err
		},
		"revoke":  func() error { return d.RevokeDevice(t.Context(), d.scope, waiting.ID, 1) },
		"approve": func() error { _, err := d.ApproveDevice(t.Context(), d.scope, d.guessOf(waiting, ada)); return err },
		"deny":    func() error { _, err := d.DenyDevice(t.Context(), d.scope, d.guessOf(waiting, ada)); return err },
		"redeem":  func() error { _, err := d.poll(t.Context(), client, approved); return err },
		"refresh": func() error { _, err := d.refresh(t.Context(), client, second.RefreshToken); return err },
		"reuse":   func() error { _, err := d.refresh(t.Context(), client, tokens.RefreshToken); return err },
		"give up": func() error { return d.RevokeRefreshToken(t.Context(), client, second.RefreshToken) },
	}
	for name, call := range calls {
		if err := call(); err == nil || domain.KindOf(err) != domain.KindInternal || grantCode(err) != "" {
			t.Errorf("%s: %v, want it stopped", name, err)
		}
	}
	d.swallowNoMore(t)
	d.expire(t)
	d.sweepAll(t)
	after := d.state(t)
	after.Links = before.Links // but for the link of an approval that was stopped
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
	if _, err := d.refresh(t.Context(), client, second.RefreshToken); err != nil || redeemed.ID != second.Device {
		t.Errorf("the token is good no more: %v", err)
	}
	d.checkInvariants(t, true)
}

// swallow has one kind of write to a table do nothing, as if it had matched no
// row.
func (d *directory) swallow(t testing.TB, verb, table string) {
	t.Helper()
	d.everywhere(t, `CREATE OR REPLACE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
	d.everywhere(t, `CREATE TRIGGER swallow BEFORE `+verb+` ON `+table+` FOR EACH ROW EXECUTE FUNCTION swallow()`)
}

func (d *directory) swallowNoMore(t testing.TB) {
	t.Helper()
	d.everywhere(t, `DROP FUNCTION swallow() CASCADE`)
}

// A change that meets another under way waits for it, and is told that its
// revision has gone.
func TestChangesOfADevice_WaitForEachOther(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	device := d.authorize(t, d.client(), "tv")
	patched := make(chan error, 1)
	err := d.changeDevice(t.Context(), d.scope.Tenant, device.ID, func(c *deviceChange) error {
		go func() {
			_, err := d.PatchDevice(t.Context(), d.scope, device.ID, 1, DevicePatch{})
			patched <- err
		}()
		d.awaitLock(t, d.router.Database(c.record.Number), patched)
		c.revoke(principalActor(d.scope))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expectCode(t, <-patched, domain.KindPreconditionFailed, "revision_stale")
}

// A poll that meets a decision under way waits for it, and answers what it was.
func TestPoll_BesideADecision_AnswersWhatWasDecided(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client := d.client()
	device := d.authorize(t, client, "tv")
	record := deviceRef(device.ID)
	polled := make(chan error, 1)
	err := d.changeDevice(t.Context(), d.scope.Tenant, device.ID, func(c *deviceChange) error {
		go func() {
			_, err := d.poll(t.Context(), client, device)
			polled <- err
		}()
		d.awaitLock(t, d.router.Database(record.Number), polled)
		c.commit(sqlDenyDevice, DeviceWasDenied, []string{"status"}, principalActor(d.scope), c.now)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expectGrant(t, <-polled, tenancy.GrantAccessDenied)
}

// awaitLock returns when somebody waits for a row's lock, or is done with that.
func (d *directory) awaitLock(t testing.TB, db *postgres.Database, done chan error) {
	t.Helper()
	d.awaitLocks(t, db, 1, done)
}

// awaitLocks returns when so many wait for locks, or somebody is done with that.
func (d *directory) awaitLocks(t testing.TB, db *postgres.Database, waiters int, done chan error) {
	t.Helper()
	for len(done) == 0 && t.Context().Err() == nil {
		var waiting int
		err := d.admin[db.Name].QueryRow(t.Context(), `
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Error(err)
			return
		}
		if waiting >= waiters {
			return
		}
	}
}
