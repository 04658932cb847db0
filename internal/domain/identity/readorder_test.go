package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A claim whose operation commits while its owner is being read is not taken for
// nobody's: the reading has the operation, or the record that it has become.
func TestReadingOfAnOwner_BesideItsCommit_KnowsItsClaim(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"FROM operations o", "FROM accounts a"} {
		d := newDirectory(t, Options{})
		a := d.create(t, "ada", "")
		change := d.mustBegin(t, a.ID, "new@example.com")
		r := d.remote(t, Options{})
		read := make(chan *reading, 1)
		var trap *testkit.Trap
		confirming := d.with(Options{Faults: &pauseAt{point: "change claimed", act: func() {
			trap = r.network.HoldBefore(t, testkit.Statement(moment))
			go func() {
				owner, err := r.read(t.Context(), d.scope.Tenant, accountRef(a.ID), false)
				if err != nil {
					t.Error(err)
				}
				read <- owner
			}()
			<-trap.Met()
		}}})
		if err := confirming.confirm(t, a.ID, change, change.Code); err != nil {
			t.Error(err)
		}
		trap.Release()
		owner := <-read
		if owner == nil {
			continue
		}
		for _, c := range d.claimRows(t) {
			if c.claim.judge(owner) == obsolete {
				t.Errorf("held before %s, it takes the claim of %s for nobody's", moment, c.claim.Key)
			}
		}
	}
}
