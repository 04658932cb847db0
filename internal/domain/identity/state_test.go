package identity

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// state is everything that the data databases hold of a tenant, one line a row, without
// what differs from run to run (ids, tokens, times): accounts by handle, pending
// email changes by their account's, claims by key with the handle of the account
// that holds them, operations by state, events as "ada 1 account.created by
// principal [handle email]". Devices go by their labels, and their claims by no
// key.
type state struct {
	Accounts     []string
	Devices      []string
	Links        []string
	EmailChanges []string
	Claims       []string
	Operations   []string
	Events       []string
}

// expectState compares the whole state.
func (d *directory) expectState(t testing.TB, want state) {
	t.Helper()
	if diff := cmp.Diff(want, d.state(t)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func (d *directory) state(t testing.TB) state {
	t.Helper()
	var s state
	names := recordNames{}
	for _, a := range d.accountRows(t) {
		if a.tenant != d.scope.Tenant {
			continue
		}
		names[accountRef(a.ID)] = a.Handle.Key()
		s.Accounts = append(s.Accounts, fmt.Sprintf("%s %s %s rev %d", a.Handle.Key(), orDash(a.Email.Key()), a.Status, a.Revision))
	}
	s.addDevices(t, d, names)
	for _, c := range d.claimRows(t) {
		if c.tenant != d.scope.Tenant {
			continue
		}
		key := c.claim.Key
		if c.claim.Family == domain.FamilyDeviceCode {
			key = "code"
		}
		s.Claims = append(s.Claims, fmt.Sprintf("%s %s of %s", c.claim.Family, key, names.of(c.claim.owner)))
	}
	for _, c := range d.emailChangeRows(t) {
		if c.tenant == d.scope.Tenant {
			s.EmailChanges = append(s.EmailChanges, fmt.Sprintf("%s to %s, %d wrong codes", names.of(c.account), c.change.email, c.change.wrongCodes))
		}
	}
	for _, o := range d.operationRows(t) {
		if o.tenant == d.scope.Tenant {
			s.Operations = append(s.Operations, string(o.op.state))
		}
	}
	for _, e := range d.eventRows(t) {
		if e.tenant == d.scope.Tenant {
			s.Events = append(s.Events, d.eventLine(names, e.Event))
		}
	}
	s.sort()
	return s
}

// recordNames are what a test calls its records.
type recordNames map[ref]string

func (n recordNames) of(record ref) string {
	if name, known := n[record]; known {
		return name
	}
	return "nobody"
}

func (s *state) sort() {
	for _, lines := range [][]string{s.Accounts, s.Devices, s.Links, s.EmailChanges, s.Claims, s.Operations, s.Events} {
		slices.Sort(lines)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// checkInvariants holds what must be true whatever crashed: each key has one
// owner, every committed account's keys are claimed by it under its tokens, each
// revision has its one event, every device that an account got is linked to it,
// and nothing stands in a bucket that isn't its own.
// With settled, recovery is said to have run, and nothing may be left over either.
func (d *directory) checkInvariants(t testing.TB, settled bool) {
	t.Helper()
	d.checkEvents(t)
	claims := map[tenantLink]ref{}
	for _, c := range d.claimRows(t) {
		key := tenantLink{c.tenant, c.claim.link}
		if other, twice := claims[key]; twice {
			t.Errorf("%s %q is claimed twice, by %v and %v", c.claim.Family, c.claim.Key, other, c.claim.owner)
		}
		claims[key] = c.claim.owner
		if c.number != c.claim.Number {
			t.Errorf("the claim of %q stands in %d and not in its bucket %d", c.claim.Key, c.number, c.claim.Number)
		}
	}
	known := map[tenantLink]bool{}
	for _, a := range d.accountRows(t) {
		if none := a.Email.IsZero(); none != a.emailToken.IsZero() || none != (a.EmailVerifiedAt == nil) {
			t.Errorf("account %s (%s) has address %q, its token %v, verified at %v", a.ID, a.Handle, a.Email, a.emailToken, a.EmailVerifiedAt)
		}
		for _, l := range a.links() {
			key := tenantLink{a.tenant, l}
			known[key] = true
			if claims[key] != accountRef(a.ID) {
				t.Errorf("account %s (%s) holds %s %q, and no claim of it under that token stands", a.ID, a.Handle, l.Family, l.Key)
			}
		}
	}
	d.checkDevices(t, claims, known)
	if !settled {
		return
	}
	for key := range claims {
		if !known[key] {
			t.Errorf("an orphan: the claim of %s %q", key.link.Family, key.link.Key)
		}
	}
	if n := len(d.operationRows(t)); n > 0 {
		t.Errorf("%d operations are left over", n)
	}
}

type tenantLink struct {
	tenant domain.TenantID
	link   link
}

type storedAccount struct {
	tenant domain.TenantID
	*accountRow
}

func (d *directory) accountRows(t testing.TB) []storedAccount {
	return collect(t, d, `SELECT tenant_id, `+accountColumns+` FROM accounts a`, func(row pgx.CollectableRow) (a storedAccount, err error) {
		a.accountRow, err = scanAccount(row, &a.tenant)
		return a, err
	})
}

type storedClaim struct {
	tenant domain.TenantID
	number domain.Number
	claim  claim
}

func (d *directory) claimRows(t testing.TB) []storedClaim {
	return collect(t, d, `SELECT tenant_id, number, family, key, token, owner_family, owner_id FROM claims`, func(row pgx.CollectableRow) (c storedClaim, err error) {
		var family, ownerFamily domain.Family
		var key string
		var token domain.Token
		var owner domain.RecordID
		err = row.Scan(&c.tenant, &c.number, &family, &key, &token, &ownerFamily, &owner)
		c.claim = claim{link: linkTo(family, key, token), owner: refTo(ownerFamily, owner)}
		return c, err
	})
}

type storedEmailChange struct {
	tenant  domain.TenantID
	account ref
	change  pendingChange
}

func (d *directory) emailChangeRows(t testing.TB) []storedEmailChange {
	return collect(t, d, `SELECT tenant_id, account_id, change_id, email, email_key, wrong_codes, expires_at FROM email_changes`, func(row pgx.CollectableRow) (c storedEmailChange, err error) {
		var id domain.AccountID
		var email, key string
		err = row.Scan(&c.tenant, &id, &c.change.id, &email, &key, &c.change.wrongCodes, &c.change.expiresAt)
		c.account, c.change.email = accountRef(id), RestoreEmail(email, key)
		return c, err
	})
}

type storedOperation struct {
	tenant domain.TenantID
	op     operation
}

func (d *directory) operationRows(t testing.TB) []storedOperation {
	return collect(t, d, `SELECT tenant_id, family, record_id, token, state, new_links, old_links FROM operations`, func(row pgx.CollectableRow) (o storedOperation, err error) {
		var family domain.Family
		var id domain.RecordID
		err = row.Scan(&o.tenant, &family, &id, &o.op.token, &o.op.state, &o.op.newLinks, &o.op.oldLinks)
		o.op.record = refTo(family, id)
		return o, err
	})
}
