package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Whoever waits for a key holds none that comes behind it, so that no two wait for
// each other: of one creation's two keys the first in their order is held by
// somebody, and the other is still anybody's.
func TestClaims_AreTakenInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	for _, stepwise := range []bool{false, true} {
		d := newDirectoryOn(t, 1, Options{Stepwise: stepwise})
		first, second := link{}, link{} // the address and the handle, which an account has the other way round
		for i := 0; compareLinks(first, second) >= 0; i++ {
			first = linkTo(domain.FamilyEmail, numbered("ada-%d@example.com", i), domain.Token{})
			second = linkTo(domain.FamilyHandle, numbered("ada-%d", i), domain.Token{})
		}
		release := d.holdKey(t, first)
		created := make(chan error, 1)
		go func() {
			_, err := d.tryCreate(t.Context(), second.Key, first.Key)
			created <- err
		}()
		db := d.router.Database(first.Number)
		d.awaitLock(t, db, created)
		d.expectFree(t, db, second)
		release()
		if err := <-created; err != nil {
			t.Errorf("stepwise %v: %v", stepwise, err)
		}
	}
}

// expectFree holds a key to be anybody's at once.
func (d *directory) expectFree(t testing.TB, db *postgres.Database, l link) {
	t.Helper()
	tx, err := d.admin[db.Name].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '1s'`); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insertClaim, d.scope.Tenant, int16(l.Number), l.Family, l.Key, "account", domain.RandomID[domain.AccountKind]()); err != nil {
		t.Errorf("%s is held: %v", l.Key, err)
	}
}
