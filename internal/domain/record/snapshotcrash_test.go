package record

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// spawnUpkeep is a worker that lives such a life. Its context ends with it.
func (k *keeper) spawnUpkeep(t *testing.T, l *life) (*Service, context.Context) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	t.Cleanup(end)
	l.end = end
	network := k.in.Through(t)
	network.Decide(func(statement string) testkit.Fate {
		begin, _, _ := strings.Cut(strings.TrimSpace(statement), "\n")
		return l.meet(begin)
	})
	dying := *k
	dying.faults = testkit.NewStoreFaults(t)
	dying.faults.AtRandom(0, 1, l.request)
	return dying.serve(t, network.Router(t, postgres.RoleWorker), Options{Purpose: tenancy.Maintain}), ctx
}

// work makes steps of whatever is due on a database, until there is nothing or the
// worker dies.
func work(ctx context.Context, database string, w *Service) {
	for ctx.Err() == nil {
		due, err := w.SnapshotsDue(ctx, database, 100)
		if err != nil || len(due) == 0 {
			return
		}
		for _, d := range due {
			if _, err := w.StepSnapshot(ctx, d); err != nil {
				return
			}
		}
	}
}

// The worker dies at every exchange that it has with the databases and the store,
// before it and behind it, and another goes on, while changes go on too. Each
// snapshot is the collection as it stood at its sequence, and what the dead left
// goes with it.
func TestSnapshotCrash_AtEveryExchange_LosesNothing(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, heir := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		database := k.databaseOf(c)
		k.fill(t, l, c, 4, 100)
		change := func(n int) {
			l.add(k.publish(t, c, Publication{Key: "item/00003", Bodies: map[string][]byte{"items": fmt.Append(nil, n)}, Expect: Expectation{Fence: &Fence{"f", int64(n + 1)}}}))
		}
		whole := &life{}
		change(0)
		asked := k.request(t, c)
		change(1)
		worker, ctx := k.spawnUpkeep(t, whole)
		work(ctx, database, worker)
		k.expectAt(t, l, c, k.complete(t, heir, c, asked))
		exchanges := whole.met()
		if len(exchanges) < 25 {
			t.Fatalf("only %d exchanges: %q", len(exchanges), exchanges)
		}
		for n, exchange := range exchanges {
			for way, answered := range map[string]bool{"before": false, "behind": true} {
				t.Run(fmt.Sprintf("%s %d, %s", way, n+1, exchange), func(t *testing.T) {
					change(4*n + 2)
					asked := k.request(t, c)
					change(4*n + 3)
					worker, ctx := k.spawnUpkeep(t, &life{last: n + 1, answered: answered})
					work(ctx, database, worker)
					change(4*n + 4)
					k.expectAt(t, l, c, k.complete(t, heir, c, asked))
				})
			}
		}
		k.ripen(t)
		for k.step(t, heir) > 0 {
		}
		kept, err := k.Snapshots(t.Context(), k.scope, c)
		if err != nil || len(kept) != snapshotsKept {
			t.Fatalf("%d are kept, %v", len(kept), err)
		}
		for _, key := range k.objects(t, c) {
			if strings.HasPrefix(key, "snapshots/") && !strings.Contains(key, kept[0].ID.String()) && !strings.Contains(key, kept[1].ID.String()) {
				t.Errorf("%s is left of a snapshot that isn't kept", key)
			}
		}
	})
}

func (k *keeper) databaseOf(collection string) string {
	return k.router.Database(numberOf(collection)).Name
}

// ripen lets all that is to be done later be due.
func (k *keeper) ripen(t testing.TB) {
	k.everywhere(t, `UPDATE snapshots SET due_at = requested_at WHERE tenant_id = $1`, k.scope.Tenant)
}

// A worker is held up at each of its requests to the store, while another makes the
// same step, and a change makes theirs differ. One of the two has made it.
func TestSnapshot_OfTwoWorkersAtOneStepOneMakesIt(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c, l, other := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
		k.fill(t, l, c, 6, 1<<20)
		slow := *k
		slow.faults = testkit.NewStoreFaults(t)
		worker := slow.upkeep(t, Options{})
		asked := k.request(t, c)
		overtaken := 0
		for n, due := 0, k.due(t, other); len(due) > 0; n, due = n+1, k.due(t, other) {
			if len(due) != 1 {
				t.Fatalf("due is %+v", due)
			}
			slow.faults.When("a part", isPart("PUT"), func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
				l.add(k.publish(t, c, Publication{Key: fmt.Sprintf("item/%05d", n), Bodies: map[string][]byte{"closed": fmt.Append(nil, n)}, Expect: Expectation{Revision: 1}}))
				if step, err := other.StepSnapshot(t.Context(), due[0]); err != nil || step.Busy {
					t.Errorf("the other's step: %+v, %v", step, err)
				}
				return pass()
			})
			step, err := worker.StepSnapshot(t.Context(), due[0])
			if err != nil || !step.Busy {
				t.Fatalf("the step of the one that was overtaken: %+v, %v", step, err)
			}
			overtaken++
		}
		if overtaken != 3 { // two of the walk, one of the export
			t.Errorf("the worker was overtaken %d times", overtaken)
		}
		sn := k.complete(t, other, c, asked)
		k.expectAt(t, l, c, sn)
	})
}

func isPart(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Contains(r.URL.Path, "/snapshots/v1/")
	}
}
