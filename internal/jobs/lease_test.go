package jobs_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// leaseKinds are the lease domain's kinds of jobs, by what they do.
var leaseKinds = map[lease.Task]string{
	lease.TaskSettle:      jobs.LeaseSweep{}.Kind(),
	lease.TaskCheckpoints: jobs.LeaseCheckpoint{}.Kind(),
	lease.TaskHeat:        jobs.LeaseHeat{}.Kind(),
}

func TestLeases_ARunVisitsWhatIsDueAPageOfEachNumberInTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	visits := map[leaseStep]int{}
	fake := &fakeLeases{
		due: func(_ string, task lease.Task) ([]domain.Number, error) { return []domain.Number{9, 3, 7}, nil },
	}
	fake.do = func(s leaseStep) (lease.SweepStep, error) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		visits[s]++
		return lease.SweepStep{Visited: 1, Recovered: 1, Done: s.Number != 3 || visits[s] == 3}, nil
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Leases = fake })
	for task, kind := range leaseKinds {
		b.awaitJobsOf(t, kind, finished("data1")...)
		want := []leaseStep{{task, "data1", 9}, {task, "data1", 3}, {task, "data1", 7}, {task, "data1", 3}, {task, "data1", 3}}
		if diff := cmp.Diff(want, fake.asked(task)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestLeases_ANumberThatFailsKeepsNoOtherFromItsTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeLeases{
		due: func(_ string, task lease.Task) (numbers []domain.Number, err error) {
			if task == lease.TaskSettle {
				numbers = []domain.Number{1, 2}
			}
			return numbers, nil
		},
		do: func(s leaseStep) (lease.SweepStep, error) {
			if s.Number == 1 {
				return lease.SweepStep{}, errors.New("broken")
			}
			return lease.SweepStep{Done: true}, nil
		},
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Leases = fake })
	b.awaitJobsOf(t, jobs.LeaseSweep{}.Kind(), job{"data1", "discarded", "broken"})
	if asked := fake.asked(lease.TaskSettle); len(asked) != 2 || asked[1].Number != 2 {
		t.Errorf("asked was %v", asked)
	}
}

// signer signs with a key of the test's.
type signer struct{ ed25519.PrivateKey }

func newSigner() signer { return signer{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))} }

func (s signer) CheckpointKey(context.Context) (string, ed25519.PrivateKey, error) {
	return "test", s.PrivateKey, nil
}

// The real domain: a lease is over and nobody asks for it. The worker gives the
// world back to the coordinator.
func TestLeases_TheWorkerEndsALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	b := setUp(t, 3)
	router := b.Router(t, postgres.RoleAPI)
	scope := openTenant(t, router)
	serving := lease.New(router, oneSecret{}, lease.Options{})
	if _, err := serving.CreateWorld(t.Context(), scope, "arena", lease.Policy{}); err != nil {
		t.Fatal(err)
	}
	if _, err := serving.Acquire(t.Context(), scope, "arena", lease.Acquire{RequestID: "one"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data1", "data2", "data3"} {
		if _, err := b.Admin(t, name).Exec(t.Context(), `UPDATE worlds SET expires_at = last_at WHERE expires_at IS NOT NULL`); err != nil {
			t.Fatal(err)
		}
	}
	sweeping := lease.New(b.Router(t, postgres.RoleWorker), nil, lease.Options{Purpose: tenancy.Maintain, Signer: newSigner()})
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Leases, o.SweepEvery = sweeping, 100*time.Millisecond })
	await(t, "the lease to end", func() bool {
		world, err := serving.World(t.Context(), scope, "arena")
		return err == nil && world.Holder.IsCoordinator() && world.Epoch == 3
	})
}
