package identity

import (
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A repeated creation prepares before it sees that its account exists. A deletion
// beside it must not take that for another change of the account.
func TestDelete_BesideRetriesOfTheCreation_GoesThrough(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	for i := range 20 {
		email := numbered("p-%d@example.com", i)
		req := CreateAccount{Handle: numbered("p-%d", i), Email: &email, EmailVerified: true, IdempotencyKey: numbered("k-%d", i)}
		created, err := d.Create(t.Context(), d.scope, req)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 3 {
					_, err := d.Create(t.Context(), d.scope, req)
					switch domain.CodeOf(err) {
					case "", "account_deleted", "request_in_flight":
					default:
						t.Errorf("a retry got %v", err)
					}
				}
			})
		}
		all.Go(func() {
			if err := d.Delete(t.Context(), d.scope, created.Account.ID, 1); err != nil {
				t.Errorf("delete: %v", err)
			}
		})
		all.Wait()
		_, err = d.LookupEmail(t.Context(), d.scope, email)
		expectCode(t, err, domain.KindNotFound, "account_not_found")
	}
	d.checkInvariants(t, true)
}
