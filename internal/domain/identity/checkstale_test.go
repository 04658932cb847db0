package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// What a page says may be over when its other half is read. Each of these hands
// a check a page of the past, and it must not take that for what is.
func TestCheck_APageOfThePast_IsReadAgain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	run := func(p *planted, n domain.Number) *inspectedRun {
		i := p.newInspection(p.scope.Tenant, func(v Violation) error {
			t.Errorf("it finds %+v", v)
			return nil
		})
		db, last := p.run(n)
		return &inspectedRun{inspection: i, db: db, first: n, last: last}
	}
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	t.Run("a key that the record has no longer", func(t *testing.T) {
		p := d.plant(t)
		before, err := p.Service.read(t.Context(), p.scope.Tenant, accountRef(p.ada), true)
		must(err)
		_, err = p.RemoveEmail(t.Context(), p.scope, p.ada, nil)
		must(err)
		var held []ownedKey
		for _, l := range before.account.links() {
			held = append(held, ownedKey{accountRef(p.ada), l})
		}
		must(run(p, 0).keys(t.Context(), held))
	})
	t.Run("a code that is about to expire, on clocks that differ, and has been taken", func(t *testing.T) {
		p := d.plant(t)
		before, err := p.Service.read(t.Context(), p.scope.Tenant, deviceRef(p.waiting), true)
		must(err)
		p.do(t, `UPDATE devices SET expires_at = now() + interval '30 seconds' WHERE tenant_id = $1 AND device_id = $2`, p.waiting)
		p.do(t, `UPDATE claims SET expires_at = now() WHERE tenant_id = $1 AND key = $2`, waitingCode)
		p.importAll(t, codeLine("other", waitingCode, time.Now().Add(time.Hour)))
		must(run(p, 0).keys(t.Context(), []ownedKey{{deviceRef(p.waiting), before.device.links()[0]}}))
	})
	t.Run("a device that is approved no longer, and whose link is gone", func(t *testing.T) {
		p := d.plant(t)
		before, err := p.Service.read(t.Context(), p.scope.Tenant, deviceRef(p.tv), true)
		must(err)
		must(p.RevokeDevice(t.Context(), p.scope, p.tv, 1))
		p.do(t, `DELETE FROM account_devices WHERE tenant_id = $1`)
		must(run(p, 0).linked(t.Context(), []*approval{{device: before.device}}))
	})
	t.Run("a claim that has been released", func(t *testing.T) {
		p := d.plant(t)
		c, err := p.Service.resolve(t.Context(), p.scope.Tenant, linkTo(domain.FamilyEmail, "ada@example.com", domain.Token{}))
		must(err)
		_, err = p.RemoveEmail(t.Context(), p.scope, p.ada, nil)
		must(err)
		r := run(p, 0)
		must(r.residue(t.Context(), []*claim{c}))
		if diff := cmp.Diff(int64(0), r.tally.residue); diff != "" {
			t.Errorf("residue (-want +got):\n%s", diff)
		}
	})
	t.Run("events that have been cleaned up", func(t *testing.T) {
		p := d.plant(t)
		n := accountRef(p.ada).Number
		r := run(p, n)
		must(r.gap(t.Context(), checkedEvent{stands: n, sequence: 1})) // both are there
		p.do(t, `DELETE FROM events WHERE tenant_id = $1 AND number = $2 AND sequence <= 2`, int16(n))
		must(r.gap(t.Context(), checkedEvent{stands: n, sequence: 1}))
	})
}
