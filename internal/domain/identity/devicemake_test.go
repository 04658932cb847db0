package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// What an import makes: devices of any age and status, with a code or without.
func TestMakeDevice_AsItWasElsewhere(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob := d.create(t, "ada", ""), d.create(t, "bob", "")
	d.setStatus(t, bob, Disabled)
	long := time.Now().Add(-1000 * time.Hour).UTC().Truncate(time.Microsecond)
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	device := func(label string, status DeviceStatus, account domain.AccountID, code string, expires *time.Time) *newDevice {
		return &newDevice{actor: principalActor(d.scope), device: &deviceRow{fingerprint: []byte(label), Device: Device{
			ID: domain.DeriveID[domain.DeviceKind](d.scope.Settings.IDKey, label), Status: status, Account: account,
			Label: &label, UserCode: RestoreUserCode(code), ExpiresAt: expires, CreatedAt: long}}}
	}
	all := []*newDevice{
		device("waiting", DevicePending, domain.AccountID{}, "WDJBMJHT", &soon),
		device("living", DeviceApproved, ada.ID, "", nil),
		device("fresh", DeviceApproved, bob.ID, "BCDFGHJK", &soon),
		device("ended", DeviceRevoked, ada.ID, "", nil),
	}
	for _, n := range all {
		if found, err := d.makeDevice(t.Context(), d.scope.Tenant, n); err != nil || found != nil {
			t.Fatalf("%s: %+v, %v", *n.device.Label, found, err)
		}
	}
	for _, n := range all {
		again := device(*n.device.Label, DevicePending, domain.AccountID{}, "", nil)
		found, err := d.makeDevice(t.Context(), d.scope.Tenant, again)
		if err != nil || found == nil || found.ID != n.device.ID {
			t.Errorf("%s again: %+v, %v, want the one that is there", *n.device.Label, found, err)
			continue
		}
		if diff := cmp.Diff(n.device.Device, found.Device, cmp.AllowUnexported(UserCode{}), cmp.Transformer("UTC", time.Time.UTC)); diff != "" ||
			!found.CreatedAt.Equal(long) || (found.Status == DeviceApproved) != (found.ApprovedAt != nil && found.ApprovedAt.Equal(long)) {
			t.Errorf("%s, as told and as stored (-told +stored)\n%s", *n.device.Label, diff)
		}
	}
	d.expectState(t, state{
		Accounts: []string{"ada - active rev 1", "bob - disabled rev 2"},
		Devices:  []string{"ended revoked rev 1 of ada", "fresh approved rev 1 of bob", "living approved rev 1 of ada", "waiting pending rev 1"},
		Links:    []string{"ada to ended", "ada to living", "bob to fresh"},
		Claims:   []string{"device-code code of fresh", "device-code code of waiting", "handle ada of ada", "handle bob of bob"},
		Events: []string{
			"ada 1 account.created by principal [handle]",
			"bob 1 account.created by principal [handle]",
			"bob 2 account.changed by principal [status]",
			"ended 1 device.created by principal [account_id label status]",
			"fresh 1 device.created by principal [account_id label status]",
			"living 1 device.created by principal [account_id label status]",
			"waiting 1 device.created by principal [label status]",
		},
	})
	d.checkInvariants(t, true)
	approved := DeviceApproved
	if page, err := d.AccountDevices(t.Context(), d.scope, ada.ID, &approved, domain.DeviceID{}, 10); err != nil || len(page.Devices) != 1 {
		t.Errorf("ada's approved devices are %+v, %v", page, err)
	}
}

func TestMakeDevice_FromTheFuture_IsOfNow(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	future := time.Now().Add(time.Hour)
	n := &newDevice{actor: principalActor(d.scope), device: &deviceRow{Device: Device{
		ID: domain.NewID[domain.DeviceKind](time.Now()), Status: DeviceApproved, Account: ada.ID, CreatedAt: future, ApprovedAt: &future}}}
	if _, err := d.makeDevice(t.Context(), d.scope.Tenant, n); err != nil {
		t.Fatal(err)
	}
	got, err := d.GetDevice(t.Context(), d.scope, n.device.ID)
	if err != nil || got.CreatedAt.After(time.Now()) || got.ApprovedAt.After(time.Now()) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMakeDevice_OfNoAccount_IsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	if err := d.Delete(t.Context(), d.scope, ada.ID, 1); err != nil {
		t.Fatal(err)
	}
	before := d.state(t)
	for name, account := range map[string]domain.AccountID{"nobody": domain.RandomID[domain.AccountKind](), "one that was deleted": ada.ID} {
		n := withCode("tv", RestoreUserCode("WDJBMJHT"))
		n.device.Status, n.device.Account = DeviceApproved, account
		_, err := d.makeDevice(t.Context(), d.scope.Tenant, n)
		if expectCode(t, err, domain.KindNotFound, "account_not_found"); t.Failed() {
			t.Errorf("for %s", name)
		}
		d.expectState(t, before)
	}
}

// A commit comes too late once its deadline has passed, or somebody has aborted
// its operation.
func TestMakeDevice_CommitThatComesTooLate_DoesNotPass(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	acts := map[string]func(){
		"after the deadline": func() { d.expire(t) },
		"after an abort":     func() { d.everywhere(t, `UPDATE operations SET state = 'aborted'`) },
		"after a sweep":      func() { d.expire(t); d.sweepAll(t) },
	}
	for name, act := range acts {
		slow := d.with(Options{Faults: &pauseAt{point: "device claimed", act: act}})
		_, err := slow.CreateDevice(t.Context(), d.scope, CreateDevice{IdempotencyKey: name})
		expectCode(t, err, domain.KindUnavailable, "operation_expired")
		d.expectState(t, state{})
	}
}

// A device whose first code was taken, and whose operation could not be called off
// then, is not made under the next code beside it.
func TestMakeDevice_BesideItsOwnOperation_WaitsForRecovery(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	n := withCode("tv", RestoreUserCode("WDJBMJHT"))
	dying := d.with(Options{Faults: &crashAt{point: "device prepared", nth: 1}})
	if _, err := dying.makeDevice(t.Context(), d.scope.Tenant, n); !stopped(err) {
		t.Fatal(err)
	}
	n.device.UserCode = RestoreUserCode("BCDFGHJK")
	_, err := d.makeDevice(t.Context(), d.scope.Tenant, n)
	expectCode(t, err, domain.KindUnavailable, "operation_expired")
	d.expire(t)
	d.sweepAll(t)
	d.expectState(t, state{})
}

// A commit that would not write what was decided is stopped as a whole: here the
// device is there already, made by another operation.
func TestMakeDevice_CommitOfADeviceThatExists_ChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	held := d.holdCode(t, "tv", RestoreUserCode("WDJBMJHT"))
	row := &deviceRow{Device: Device{ID: held.ID, Status: DevicePending, Label: held.Label}}
	op, err := deviceCreationOf(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	db := d.router.Database(op.record.Number)
	p := &preparing{op: op}
	if err := d.prepareAll(t.Context(), db, d.scope.Tenant, []*preparing{p}); err != nil || !p.granted {
		t.Fatalf("prepare: granted %v, %v", p.granted, err)
	}
	before := d.state(t)
	c := &creatingDevice{newDevice: &newDevice{device: row}, op: op}
	err = d.createDevices(t.Context(), db, d.scope.Tenant, []*creatingDevice{c})
	if domain.KindOf(err) != domain.KindInternal || err == nil || c.committed {
		t.Errorf("committed %v, %v, want it stopped", c.committed, err)
	}
	d.expectState(t, before)
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
}

func TestDeviceCreations_OfOneKeyAtOnce_MakeOneDevice(t *testing.T) {
	t.Parallel()
	deviceRetryRace(t, newDirectory(t, Options{}))
}

func deviceRetryRace(t *testing.T, d *directory) {
	label := "tv"
	req := CreateDevice{Label: &label, Client: d.client(), IdempotencyKey: "k"}
	codes := make([]string, 12)
	errs := atOnce(len(codes), func(i int) error {
		created, err := d.CreateDevice(t.Context(), d.scope, req)
		codes[i] = created.DeviceCode
		return err
	})
	shown, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if err != nil {
			expectCode(t, err, domain.KindConflict, "request_in_flight")
		} else if codes[i] != shown.DeviceCode {
			t.Errorf("one was shown %q, another %q", codes[i], shown.DeviceCode)
		}
	}
	if made := d.state(t).Devices; len(made) != 1 {
		t.Errorf("%v were made", made)
	}
	d.checkInvariants(t, true)
}
