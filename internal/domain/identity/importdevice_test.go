package identity

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// deviceLine is a line of an approved device without a code.
func deviceLine(key, accountKey string) ImportLine {
	return ImportLine{Key: key, Device: &ImportDevice{AccountKey: accountKey, Status: DeviceApproved}}
}

// codeLine is a line of a pending device.
func codeLine(key, code string, expiresAt time.Time) ImportLine {
	return ImportLine{Key: key, Device: &ImportDevice{Status: DevicePending, UserCode: &code, ExpiresAt: &expiresAt}}
}

func (d *directory) importedDevice(key string) domain.DeviceID {
	return importID[domain.DeviceKind](d.scope.Settings.IDKey, domain.FamilyDevice, key)
}

func TestImport_MakesDevicesOfAccountsOnEarlierLines(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	made, later := time.Date(2019, 1, 2, 3, 4, 5, 0, time.UTC), time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	full := deviceLine("1", "1")
	full.Device.Label, full.Device.CreatedAt = new("TV"), &made
	full.Device.UserCode, full.Device.ExpiresAt = new("wdjb mjht"), &later
	revoked := deviceLine("2", "")
	revoked.Device.Status, revoked.Device.Account = DeviceRevoked, d.imported("1")
	ada := accountLine("1", "ada", "")
	ada.Account.Status = Disabled
	lines := []ImportLine{ada, full, revoked, codeLine("3", "BCDF-GHJK", later)}
	expectResults(t, d.importAll(t, lines...), "1 1 created", "2 1 created", "3 2 created", "4 3 created")
	expectResults(t, d.importAll(t, lines...), "1 1 exists", "2 1 exists", "3 2 exists", "4 3 exists")

	device, err := d.GetDevice(t.Context(), d.scope, d.importedDevice("1"))
	if err != nil {
		t.Fatal(err)
	}
	utc := cmp.Transformer("UTC", func(at time.Time) time.Time { return at.UTC() })
	want := Device{ID: d.importedDevice("1"), Revision: 1, Status: DeviceApproved, Account: d.imported("1"), Label: new("TV"), Scopes: []string{},
		UserCode: RestoreUserCode("WDJBMJHT"), ExpiresAt: &later, CreatedAt: made, UpdatedAt: device.UpdatedAt, ApprovedAt: &made}
	if diff := cmp.Diff(want, device, utc, cmp.AllowUnexported(UserCode{})); diff != "" {
		t.Errorf("device (-want +got):\n%s", diff)
	}
	page, err := d.AccountDevices(t.Context(), d.scope, d.imported("1"), nil, domain.DeviceID{}, 10)
	if err != nil || len(page.Devices) != 2 {
		t.Errorf("the account has %+v, %v", page, err)
	}
	census := d.expectSound(t)
	if diff := cmp.Diff([]KeyCount{{domain.FamilyHandle, 1}, {domain.FamilyEmail, 0}, {domain.FamilyDeviceCode, 2}}, census.Keys); diff != "" || census.Codes.Live != 2 {
		t.Errorf("%+v; keys (-want +got):\n%s", census, diff)
	}
}

// However close a device's line is behind its account's: both may be under way.
func TestImport_ADeviceWaitsForItsAccountsLine(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	var lines []ImportLine
	for i := range 3 * importWindow {
		lines = append(lines, accountLine(numbered("%d", i), numbered("a-%d", i), ""), deviceLine(numbered("%d", i), numbered("%d", i)))
	}
	for _, result := range d.importAll(t, lines...) {
		if result[len(result)-len("created"):] != "created" {
			t.Errorf("result %s", result)
		}
	}
	d.expectSound(t)
}

func TestImport_ADeviceWithoutItsAccount_FailsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	if err := d.Delete(t.Context(), d.scope, a.ID, a.Revision); err != nil {
		t.Fatal(err)
	}
	stranger := *d
	stranger.scope = d.newTenant(t, "ascii")
	theirs := stranger.create(t, "ben", "")
	byID := func(key string, id domain.AccountID) ImportLine {
		line := deviceLine(key, "")
		line.Device.Account = id
		return line
	}
	before := d.state(t)
	expectResults(t, d.importAll(t, deviceLine("1", "later"), accountLine("1", "no good", ""), deviceLine("2", "1"), byID("3", a.ID), byID("4", theirs.ID)),
		"1 1 account_not_found /account_key", "2 1 handle_invalid /handle", "3 2 account_not_found /account_key",
		"4 3 account_not_found /account_id", "5 4 account_not_found /account_id")
	d.expectState(t, before)
	expectResults(t, d.importAll(t, accountLine("later", "cy", ""), deviceLine("1", "later")), "1 later created", "2 1 created")
}

func TestImport_AnExpiredCode_IsStoredAndClaimsNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	const code = "WDJB-MJHT"
	approved := func(key string) ImportLine {
		line := deviceLine(key, "a")
		line.Device.UserCode, line.Device.ExpiresAt = new(code), &past
		return line
	}
	expectResults(t, d.importAll(t, accountLine("a", "ada", ""), approved("1"), codeLine("2", code, later), approved("3"), codeLine("4", code, later)),
		"1 a created", "2 1 created", "3 2 created", "4 3 created", "5 4 user_code_taken /user_code")
	for _, c := range d.claimRows(t) {
		if c.claim.Family == domain.FamilyDeviceCode && c.claim.owner != deviceRef(d.importedDevice("2")) {
			t.Errorf("there is the claim %+v", c)
		}
	}
	first, err := d.GetDevice(t.Context(), d.scope, d.importedDevice("1"))
	if err != nil || first.UserCode.String() != code || !first.ExpiresAt.Equal(past.Truncate(time.Microsecond)) {
		t.Errorf("the expired one is %+v, %v", first, err)
	}
	census := d.expectSound(t)
	if want := (CodeCount{Live: 1, Past: 2}); census.Codes != want {
		t.Errorf("codes are %+v, want %+v", census.Codes, want)
	}
}

func TestImport_ABadDeviceLine_IsRefusedByItself(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	now := time.Now()
	line := func(change func(*ImportDevice)) ImportLine {
		line := deviceLine("k", "1")
		change(line.Device)
		return line
	}
	bad := []struct {
		line ImportLine
		want string
	}{
		{line(func(d *ImportDevice) { d.Status = DeviceDenied }), "status_invalid /status"},
		{line(func(d *ImportDevice) { d.AccountKey = "" }), "account_missing /account_key"},
		{line(func(d *ImportDevice) { d.Account = domain.RandomID[domain.AccountKind]() }), "account_named_twice /account_key"},
		{line(func(d *ImportDevice) { d.Status = DevicePending }), "account_unexpected /account_key"},
		{line(func(d *ImportDevice) { d.Status, d.AccountKey = DevicePending, "" }), "user_code_missing /user_code"},
		{line(func(d *ImportDevice) { d.ExpiresAt = &now }), "user_code_missing /expires_at"},
		{line(func(d *ImportDevice) { d.UserCode = new("WDJB-MJHT") }), "expires_at_missing /expires_at"},
		{line(func(d *ImportDevice) { d.UserCode, d.ExpiresAt = new("WDJB"), &now }), "user_code_invalid /user_code"},
		{line(func(d *ImportDevice) { d.UserCode, d.ExpiresAt = new("WDJB-MJHT"), new(now.Add(25*time.Hour)) }), "expires_at_too_late /expires_at"},
		{codeLine("k", "WDJB-MJHT", now), "user_code_expired /expires_at"},
		{line(func(d *ImportDevice) { d.Label = new(string(make([]byte, 201))) }), "label_invalid /label"},
		{line(func(d *ImportDevice) { d.CreatedAt = new(now.Add(time.Hour)) }), "time_in_future /created_at"},
	}
	for _, b := range bad {
		expectResults(t, d.importAll(t, b.line), "1 k "+b.want)
	}
	d.importAll(t, accountLine("1", "ada", ""), deviceLine("k", "1"))
	expectResults(t, d.importAll(t, line(func(d *ImportDevice) { d.Label = new("TV") })), "1 k idempotency_key_reused /key")
	d.checkInvariants(t, true)
	d.everywhere(t, `DELETE FROM devices WHERE tenant_id = $1`, d.scope.Tenant) // as the cleanup does, whose event stays
	expectResults(t, d.importAll(t, deviceLine("k", "1")), "1 k device_removed /key")
}

func TestImport_KilledAmidADevice_IsResumed(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	later := time.Now().Add(time.Hour)
	device := deviceLine("1", "1")
	device.Device.UserCode, device.Device.ExpiresAt = new("WDJB-MJHT"), &later
	lines := []ImportLine{accountLine("1", "ada", ""), device}
	covered := &crashAt{}
	if _, err := d.with(Options{Faults: covered}).tryImport(t.Context(), lines...); err != nil {
		t.Fatal(err)
	}
	for point, times := range covered.reached {
		for nth := range times {
			d := d.with(Options{})
			d.scope = d.newTenant(t, "ascii")
			if _, err := d.with(Options{Faults: &crashAt{point: point, nth: nth + 1}}).tryImport(t.Context(), lines...); !errors.Is(err, errCrash) {
				t.Errorf("%s %d: the process did not die: %v", point, nth+1, err)
			}
			d.expectSound(t)
			d.expire(t)
			if results := d.importAll(t, lines...); results[1] != "2 1 created" && results[1] != "2 1 exists" {
				t.Errorf("%s %d: resumed: %v", point, nth+1, results)
			}
			if census := d.expectSound(t); census.Pending > 0 || census.Residue > 0 {
				t.Errorf("%s %d: left over: %+v", point, nth+1, census)
			}
		}
	}
}

// A pending device whose code has expired is nothing that anybody can approve; a
// file that made it in time may be sent again all the same.
func TestImport_OfADeviceThatHasLapsedSince_Exists(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	expectResults(t, d.importAll(t, codeLine("1", "WDJB-MJHT", time.Now().Add(time.Hour))), "1 1 created")
	run := &importRun{s: d.maintenance, scope: d.scope}
	device := d.deviceRows(t)[0].deviceRow
	if exists, err := run.lapsedDevice(t.Context(), device); !exists || err != nil {
		t.Errorf("its own line: %v, %v", exists, err)
	}
	other := *device
	other.fingerprint = []byte("another line's")
	_, err := run.lapsedDevice(t.Context(), &other)
	expectCode(t, err, domain.KindInvalid, "idempotency_key_reused")
}
