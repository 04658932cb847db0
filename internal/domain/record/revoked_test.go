package record

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// revocable is a process, and a switch that revokes the token of whoever calls it.
func (k *keeper) revocable(t testing.TB) (*keeper, *atomic.Bool) {
	revoked := &atomic.Bool{}
	return k.process(t, Options{StillValid: func(s tenancy.Scope) error {
		if revoked.Load() && s.Principal == k.scope.Principal {
			return domain.Unauthenticated("token_revoked", "It was revoked.")
		}
		return nil
	}}), revoked
}

// While a body is on its way to the store the caller's token is revoked: the body
// arrives, and nothing is committed.
func TestRevoked_WhileTheStoreHangs_NothingIsCommitted(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, items("x", "stands"))
	p := claimed("y", "b", k.claimItems(t, c, "b", "y")["y"])
	p.OperationID = k.operation()
	for name, change := range map[string]func(k *keeper) error{
		"publish": func(k *keeper) error {
			_, err := k.Publish(t.Context(), k.scope, c, nil, k.onto("new"))
			return err
		},
		"publish many": func(k *keeper) error {
			made, err := k.PublishEach(t.Context(), k.scope, c, nil, []Publication{k.onto("new")})
			if err == nil {
				err = made[0].Err
			}
			return err
		},
		"complete": func(k *keeper) error {
			_, err := k.Complete(t.Context(), k.scope, c, nil, "b", CompleteBatch{OperationID: "all", Items: []Publication{p}})
			return err
		},
	} {
		other, revoked := k.revocable(t)
		k.faults.On("PUT", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			revoked.Store(true)
			return pass()
		})
		k.expectUnchanged(t, c, func() { expectCode(t, change(other), domain.KindUnauthenticated, "token_revoked") })
		if !revoked.Load() {
			t.Errorf("%s: nothing went to the store", name)
		}
	}
	k.expectSound(t, c)
}

func TestRevoked_NoChangeIsMade(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		k.publish(t, c, items("x", "stands"))
		y := k.claimItems(t, c, "b", "y")["y"]
		other, revoked := k.revocable(t)
		revoked.Store(true)
		for name, change := range map[string]func() error{
			"publish": func() error {
				_, err := other.Publish(t.Context(), k.scope, c, nil, k.onto("new"))
				return err
			},
			"delete": func() error {
				_, err := other.Delete(t.Context(), k.scope, c, nil, "x", 1, "")
				return err
			},
			"claim": func() error {
				_, err := other.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "another", Owner: "worker", Items: []string{"z"}, Term: time.Hour})
				return err
			},
			"heartbeat": func() error {
				_, err := other.Heartbeat(t.Context(), k.scope, c, nil, "b", []ClaimedItem{{"y", y}}, 0)
				return err
			},
		} {
			k.expectUnchanged(t, c, func() {
				if err := change(); domain.CodeOf(err) != "token_revoked" {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		// Another principal's changes, which may share transactions, are made.
		scope := k.scope
		scope.Principal = domain.NewID[domain.PrincipalKind](time.Now())
		if _, err := other.Publish(t.Context(), scope, c, nil, k.onto("new")); err != nil {
			t.Error(err)
		}
		k.expectSound(t, c)
	})
}
