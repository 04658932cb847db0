package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// check gives what a check finds.
func (d *directory) check(t testing.TB) (Census, []Violation) {
	t.Helper()
	var found []Violation
	census, err := d.Check(t.Context(), d.scope.Tenant, func(v Violation) error {
		found = append(found, v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if census.Violations != int64(len(found)) {
		t.Errorf("the census counts %d violations, and %d were told", census.Violations, len(found))
	}
	return census, found
}

// expectSound holds a check to finding nothing, and gives its census.
func (d *directory) expectSound(t testing.TB) Census {
	t.Helper()
	census, found := d.check(t)
	for _, v := range found {
		t.Errorf("the check finds %+v", v)
	}
	return census
}

func TestCheck_OfASoundDirectory_FindsNothingAndCounts(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b := d.create(t, "ada", "ada@example.com"), d.create(t, "ben", "ben@example.com")
	d.create(t, "cy", "")
	if _, err := d.Patch(t.Context(), d.scope, a.ID, a.Revision, AccountPatch{Status: new(Disabled)}); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), d.scope, b.ID, b.Revision); err != nil {
		t.Fatal(err)
	}
	other := *d // whose rows don't count
	other.scope = d.newTenant(t, "ascii")
	other.create(t, "ada", "ada@example.com")

	want := Census{
		Records: []RecordCount{
			{domain.FamilyAccount, "active", 1}, {domain.FamilyAccount, "disabled", 1}, {domain.FamilyAccount, "deleted", 1},
			{domain.FamilyDevice, "pending", 0}, {domain.FamilyDevice, "approved", 0}, {domain.FamilyDevice, "denied", 0}, {domain.FamilyDevice, "revoked", 0},
		},
		Keys:   []KeyCount{{domain.FamilyHandle, 3}, {domain.FamilyEmail, 1}, {domain.FamilyDeviceCode, 0}},
		Events: 5,
	}
	if diff := cmp.Diff(want, d.expectSound(t)); diff != "" {
		t.Errorf("census (-want +got):\n%s", diff)
	}
}

// However small the pages are, every row is looked at once.
func TestCheck_InPagesOfAnySize_LooksAtEveryRowOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	var lines []ImportLine
	for i := range 40 {
		lines = append(lines, accountLine(numbered("%d", i), numbered("a-%d", i), numbered("a-%d@example.com", i)),
			deviceLine(numbered("%d", i), numbered("%d", i)))
	}
	d.importAll(t, lines...)
	d.everywhere(t, `DELETE FROM claims WHERE tenant_id = $1 AND family = 'email'`, d.scope.Tenant)
	d.everywhere(t, `UPDATE account_devices SET account_id = gen_random_uuid() WHERE tenant_id = $1`, d.scope.Tenant)
	d.everywhere(t, `UPDATE events SET revision = 2 WHERE tenant_id = $1 AND family = 'device'`, d.scope.Tenant)
	whole := d.newInspection(d.scope.Tenant, func(Violation) error { return nil })
	if err := whole.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := whole.tally.violations; n < 40*4 {
		t.Fatalf("there are only %d violations", n)
	}
	for _, size := range []int{1, 2, 3, 7} {
		i := d.newInspection(d.scope.Tenant, func(Violation) error { return nil })
		i.page = size
		if err := i.all(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.census(), i.census()); diff != "" || i.sum() != whole.sum() {
			t.Errorf("in pages of %d, digest %x, census (-want +got):\n%s", size, i.sum(), diff)
		}
	}
}
