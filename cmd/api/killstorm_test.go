package main

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

const (
	stormKills   = 25
	stormCallers = 8
	stormEmails  = 30 // addresses that all callers want
)

// storm is what its callers share.
type storm struct {
	directory *directory
	customer  customer
	requests  atomic.Int64 // creations asked for, each under a name of its own
	dying     atomic.Bool  // no answer is no wonder

	mu      sync.Mutex
	deleted map[string]time.Time // when a deletion was acknowledged, by account
	taken   map[string]bool      // handles that somebody was refused
}

// clients call the process of one life, each request once. keyless drops the
// Idempotency-Key that the client would add.
type clients struct{ keyed, keyless *holdfast.ClientWithResponses }

func (s *storm) connect(t *testing.T, process *running) clients {
	t.Helper()
	patient := &http.Client{Timeout: patience}
	return clients{
		keyed:   connect(t, process, s.customer.key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(patient)),
		keyless: connect(t, process, s.customer.key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(keyless{patient})),
	}
}

type keyless struct{ holdfast.HttpRequestDoer }

func (k keyless) Do(request *http.Request) (*http.Response, error) {
	request.Header.Del("Idempotency-Key")
	return k.HttpRequestDoer.Do(request)
}

// While callers create, change, delete and look up, contending for the same keys,
// their process is killed again and again. What each was told is what is true.
func TestKill_AtRandomMoments_EveryAnswerWasTrue(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed was %d", seed)
		}
	})
	rng := rand.New(rand.NewPCG(seed, 0))
	stack := newStack(t, 3)
	process := stack.spawn(t)
	s := &storm{
		directory: openDirectory(t, stack.installation),
		customer:  stack.tenant(t, process, "acme"),
		deleted:   map[string]time.Time{},
		taken:     map[string]bool{},
	}
	callers := make([]*caller, stormCallers)
	for i := range callers {
		callers[i] = &caller{storm: s, rng: rand.New(rand.NewPCG(seed, uint64(1+i)))}
	}

	var left int
	for range stormKills {
		s.live(t, process, callers, rng)
		s.directory.awaitSilence(t)
		s.directory.check(t, "behind a kill", false)
		left += len(s.directory.operations(t))
		if rng.IntN(2) == 0 {
			s.directory.expire(t) // all are dead processes', so the next one meets them overdue
		}
		process = stack.spawn(t)
	}
	s.directory.recover(t)
	s.directory.check(t, "when all was swept", true)
	s.judge(t, s.connect(t, process), callers, left)
	s.directory.check(t, "at the end", true)
}

// live lets the callers work until the process is killed under them.
func (s *storm) live(t *testing.T, process *running, callers []*caller, rng *rand.Rand) {
	t.Helper()
	s.dying.Store(false)
	calls := s.connect(t, process)
	var life, beginning sync.WaitGroup
	beginning.Add(len(callers))
	for _, c := range callers {
		life.Go(func() { c.live(t, calls, sync.OnceFunc(beginning.Done)) })
	}
	beginning.Wait()
	time.Sleep(time.Duration(rng.Int64N(int64(200 * time.Millisecond)))) // any moment will do
	s.dying.Store(true)
	process.kill()
	life.Wait()
}

func (s *storm) noteTaken(handle string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken[handle] = true
}

func (s *storm) noteDeleted(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted[account] = time.Now()
}

func (s *storm) deletedBefore(account string, began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, deleted := s.deleted[account]
	return deleted && at.Before(began)
}
