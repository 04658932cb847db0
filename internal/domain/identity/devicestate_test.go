package identity

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

type storedDevice struct {
	tenant domain.TenantID
	number domain.Number
	*deviceRow
}

func (d *directory) deviceRows(t testing.TB) []storedDevice {
	return collect(t, d, `SELECT tenant_id, number, `+deviceColumns+` FROM devices d`, func(row pgx.CollectableRow) (s storedDevice, err error) {
		s.deviceRow, err = scanDevice(row, &s.tenant, &s.number)
		return s, err
	})
}

// storedLink is a link of an account to a device.
type storedLink struct {
	tenant    domain.TenantID
	number    domain.Number
	account   domain.AccountID
	device    domain.DeviceID
	confirmed bool
}

func (d *directory) linkRows(t testing.TB) []storedLink {
	return collect(t, d, `SELECT tenant_id, number, account_id, device_id, confirmed FROM account_devices`,
		func(row pgx.CollectableRow) (l storedLink, err error) {
			return l, row.Scan(&l.tenant, &l.number, &l.account, &l.device, &l.confirmed)
		})
}

// storedGuesses are the charged guesses of one subject.
type storedGuesses struct {
	tenant  domain.TenantID
	number  domain.Number
	subject domain.RecordID
	at      guesses
}

func (d *directory) guessRows(t testing.TB) []storedGuesses {
	return collect(t, d, `SELECT tenant_id, number, subject, guessed_at FROM code_guesses`,
		func(row pgx.CollectableRow) (g storedGuesses, err error) {
			return g, row.Scan(&g.tenant, &g.number, &g.subject, &g.at)
		})
}

// charged counts the guesses that are charged to an account, and to its tenant.
func (d *directory) charged(t testing.TB, account domain.AccountID) (ofAccount, ofTenant int) {
	t.Helper()
	for _, g := range d.guessRows(t) {
		switch {
		case g.tenant != d.scope.Tenant:
		case g.subject.IsZero():
			ofTenant += len(g.at)
		case g.subject == domain.RecordID(account):
			ofAccount += len(g.at)
		}
	}
	return ofAccount, ofTenant
}

// addDevices adds a line a device: by its label, with the account that has it,
// and whether its code was redeemed; and a line a link. Their names go into names.
func (s *state) addDevices(t testing.TB, d *directory, names recordNames) {
	t.Helper()
	for _, device := range d.deviceRows(t) {
		if device.tenant != d.scope.Tenant {
			continue
		}
		name := orDash(orZero(device.Label))
		names[deviceRef(device.ID)] = name
		line := fmt.Sprintf("%s %s rev %d", name, device.Status, device.Revision)
		if !device.Account.IsZero() {
			line += " of " + names.of(accountRef(device.Account))
		}
		if device.RedeemedAt != nil {
			line += fmt.Sprintf(", redeemed, token %d", device.refresh.generation)
		}
		s.Devices = append(s.Devices, line)
	}
	for _, l := range d.linkRows(t) {
		if l.tenant != d.scope.Tenant {
			continue
		}
		line := names.of(accountRef(l.account)) + " to " + names.of(deviceRef(l.device))
		if !l.confirmed {
			line += ", doubtful"
		}
		s.Links = append(s.Links, line)
	}
}

// checkDevices holds the claims and the links to the devices. It adds to known
// what the devices hold.
func (d *directory) checkDevices(t testing.TB, claims map[tenantLink]ref, known map[tenantLink]bool) {
	t.Helper()
	type pair struct {
		account domain.AccountID
		device  domain.DeviceID
	}
	linked := map[pair]bool{}
	for _, l := range d.linkRows(t) {
		linked[pair{l.account, l.device}] = true
		if want := accountRef(l.account).Number; l.number != want {
			t.Errorf("the link of account %s stands in %d and not in %d", l.account, l.number, want)
		}
	}
	now := time.Now()
	for _, device := range d.deviceRows(t) {
		if want := deviceRef(device.ID).Number; device.number != want {
			t.Errorf("device %s stands in %d and not in %d", device.ID, device.number, want)
		}
		for _, l := range device.links() {
			key := tenantLink{device.tenant, l}
			known[key] = true
			if device.codeLives(now) && claims[key] != deviceRef(device.ID) {
				t.Errorf("device %s shows %s, and no claim of it under its token stands", device.ID, l.Key)
			}
		}
		if !device.Account.IsZero() && !linked[pair{device.Account, device.ID}] {
			t.Errorf("device %s is account %s's, which has no link to it", device.ID, device.Account)
		}
	}
	for _, g := range d.guessRows(t) {
		if !g.subject.IsZero() && g.number != refTo(domain.FamilyAccount, g.subject).Number {
			t.Errorf("the guesses of account %s stand in %d", g.subject, g.number)
		}
	}
}
