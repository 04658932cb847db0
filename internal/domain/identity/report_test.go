package identity

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func (d *directory) report(t testing.TB) Report {
	t.Helper()
	r, err := d.Report(t.Context(), d.scope.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A rehearsal tells what the import itself will have: the hash says nothing of
// where the numbers live, when the lines were imported, and in which order.
func TestReport_TheSameLinesHaveOneHash_OnAnyNumberOfDatabases(t *testing.T) {
	t.Parallel()
	three := newDirectory(t, Options{})
	in := testkit.Databases(t, 1)
	router := in.Router(t, postgres.RoleAPI)
	one := &directory{Service: New(router, testSecrets("server"), Options{}), in: in, router: router, scope: three.scope}
	importing := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "importing"}
	one.setGate(t, one.scope.Tenant, importing)
	three.setGate(t, three.scope.Tenant, importing)

	later := time.Now().Add(time.Hour)
	var accounts, devices, reversed []ImportLine
	for i := range 40 {
		accounts = append(accounts, accountLine(numbered("%d", i), numbered("a-%d", i), numbered("a-%d@example.com", i)))
		devices = append(devices, deviceLine(numbered("%d", i), numbered("%d", i)))
	}
	devices = append(devices, codeLine("code", "WDJB-MJHT", later))
	for i := range accounts {
		reversed = append(reversed, accounts[len(accounts)-1-i])
	}
	three.importAll(t, append(accounts, devices...)...)
	one.importAll(t, append(reversed, devices...)...)

	got := three.report(t)
	want := Report{
		Tenant: three.scope.Tenant,
		Census: Census{
			Records: []RecordCount{
				{domain.FamilyAccount, "active", 40}, {domain.FamilyAccount, "disabled", 0}, {domain.FamilyAccount, "deleted", 0},
				{domain.FamilyDevice, "pending", 1}, {domain.FamilyDevice, "approved", 40}, {domain.FamilyDevice, "denied", 0}, {domain.FamilyDevice, "revoked", 0},
			},
			Keys:   []KeyCount{{domain.FamilyHandle, 40}, {domain.FamilyEmail, 40}, {domain.FamilyDeviceCode, 1}},
			Codes:  CodeCount{Live: 1},
			Events: 81,
		},
		Hash:     got.Hash,
		Openable: true,
	}
	if diff := cmp.Diff(want, got); diff != "" || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got.Hash) {
		t.Errorf("hash %q; report (-want +got):\n%s", got.Hash, diff)
	}
	if diff := cmp.Diff(got, one.report(t)); diff != "" {
		t.Errorf("(-three databases +one)\n%s", diff)
	}
}

func TestReport_EveryChangeHasAnotherHash(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.scope = d.newTenant(t, "unicode")
	later := time.Now().Add(time.Hour)
	d.importAll(t, accountLine("1", "ada", "ada@example.com"), accountLine("2", "ben", ""), codeLine("1", "WDJB-MJHT", later))
	ada, device := d.imported("1"), d.importedDevice("1")
	at := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	sql := func(statement string) func() {
		return func() { d.everywhere(t, statement, d.scope.Tenant) }
	}
	seen := map[string]string{d.report(t).Hash: "the import"}
	for _, change := range []struct {
		name string
		make func()
	}{
		{"another account", func() { d.importAll(t, accountLine("3", "cy", "")) }},
		{"another device", func() { d.importAll(t, deviceLine("2", "1")) }},
		{"a display name", func() {
			_, err := d.Patch(t.Context(), d.scope, ada, 1, AccountPatch{DisplayName: new(new("Ada"))})
			at(err)
		}},
		{"a status", func() {
			_, err := d.Patch(t.Context(), d.scope, ada, 2, AccountPatch{Status: new(Disabled)})
			at(err)
		}},
		{"a status and back, which is not what it was", func() {
			_, err := d.Patch(t.Context(), d.scope, ada, 3, AccountPatch{Status: new(Active)})
			at(err)
			_, err = d.Patch(t.Context(), d.scope, ada, 4, AccountPatch{Status: new(Disabled)})
			at(err)
			_, err = d.Patch(t.Context(), d.scope, ada, 5, AccountPatch{Status: new(Active)})
			at(err)
		}},
		{"another address", func() {
			begun, err := d.BeginEmailChange(t.Context(), d.scope, ada, BeginEmailChange{Email: "ada@example.org"})
			at(err)
			_, err = d.ConfirmEmailChange(t.Context(), d.scope, ada, begun.ID, begun.Code)
			at(err)
		}},
		{"an approval", func() {
			_, err := d.ApproveDevice(t.Context(), d.scope, CodeGuess{UserCode: "WDJB-MJHT", Account: ada})
			at(err)
		}},
		{"a label", func() {
			_, err := d.PatchDevice(t.Context(), d.scope, device, 2, DevicePatch{Label: new(new("TV"))})
			at(err)
		}},
		{"a deletion", func() { at(d.Delete(t.Context(), d.scope, d.imported("2"), 1)) }},

		// Past Holdfast, with no word to anybody.
		{"a claim", sql(`DELETE FROM claims WHERE tenant_id = $1 AND family = 'email'`)},
		{"a revision", sql(`UPDATE accounts SET revision = revision + 1 WHERE tenant_id = $1`)},
		{"a device's revision", sql(`UPDATE devices SET revision = revision + 1 WHERE tenant_id = $1`)},
		{"a device's status", sql(`UPDATE devices SET status = 'revoked' WHERE tenant_id = $1`)},
		{"a handle's letters", sql(`UPDATE accounts SET handle = upper(handle) WHERE tenant_id = $1`)},
		{"a handle's key", sql(`UPDATE accounts SET handle_key = handle_key || 'x' WHERE tenant_id = $1`)},
		{"a skeleton", sql(`UPDATE accounts SET skeleton_key = skeleton_key || 'x' WHERE tenant_id = $1`)},
		{"an address as given", sql(`UPDATE accounts SET email = upper(email) WHERE tenant_id = $1`)},
		{"an address's key", sql(`UPDATE accounts SET email_key = email_key || 'x' WHERE tenant_id = $1`)},
		{"attributes", sql(`UPDATE accounts SET attributes = '{"a":1}' WHERE tenant_id = $1`)},
		{"a display name that becomes empty", sql(`UPDATE accounts SET display_name = '' WHERE tenant_id = $1 AND display_name IS NOT NULL`)},
		{"a code", sql(`UPDATE devices SET user_code = 'BBBBBBBB' WHERE tenant_id = $1 AND user_code IS NOT NULL`)},
		{"a code's expiry", sql(`UPDATE devices SET expires_at = expires_at + interval '1 second' WHERE tenant_id = $1`)},
		{"a label that becomes empty", sql(`UPDATE devices SET label = '' WHERE tenant_id = $1 AND label IS NOT NULL`)},
		{"scopes", sql(`UPDATE devices SET scopes = '{a}' WHERE tenant_id = $1`)},
		{"a client", sql(`UPDATE devices SET client_id = gen_random_uuid() WHERE tenant_id = $1`)},
		{"a device's account", sql(`UPDATE devices SET account_id = gen_random_uuid() WHERE tenant_id = $1`)},
	} {
		change.make()
		hash := d.report(t).Hash
		if earlier, known := seen[hash]; known {
			t.Errorf("%s has the hash of %s", change.name, earlier)
		}
		if again := d.report(t).Hash; again != hash {
			t.Errorf("%s has two hashes", change.name)
		}
		seen[hash] = change.name
	}
	var empty [2]Report
	for i := range empty {
		d.scope.Tenant = domain.NewID[domain.TenantKind](time.Now())
		d.setGate(t, d.scope.Tenant, gateOf("open"))
		empty[i] = d.report(t)
	}
	if empty[0].Hash == empty[1].Hash || empty[0].Events+empty[1].Events > 0 {
		t.Errorf("two tenants that have nothing have the reports %+v", empty)
	}
}

// While an operator reads a report, codes expire, old events go, and a sweep
// removes what a crash left: the records and their keys are what they were.
func TestReport_TimeAloneChangesNoHash(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.importAll(t, codeLine("1", "WDJB-MJHT", time.Now().Add(time.Hour)))
	before := d.report(t)
	i := d.newInspection(d.scope.Tenant, nil)
	if err := i.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := before
	later.Codes, later.Events, later.Residue = CodeCount{Past: 1}, 0, 1
	hash, err := later.hash(i.sum())
	if err != nil || hash != before.Hash || before.Codes != (CodeCount{Live: 1}) {
		t.Errorf("%+v has the hash %s later, %v", before, hash, err)
	}
}
