package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// life is what a process has with the databases and the object store: exchanges,
// one after the other. It ends with one of them.
type life struct {
	last     int  // the exchange with which it ends; 0 for never
	answered bool // whether the last one is still done, though nobody hears the answer
	end      context.CancelFunc

	mu        sync.Mutex
	exchanges []string // how each began
}

// meet gives an exchange its fate.
func (l *life) meet(exchange string) testkit.Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exchanges = append(l.exchanges, exchange)
	switch n := len(l.exchanges); {
	case l.last == 0 || n < l.last:
		return testkit.Passes
	case n == l.last && l.answered:
		return testkit.NeverAnswered
	}
	l.end()
	return testkit.NeverArrives
}

func (l *life) met() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.exchanges)
}

var errDied = errors.New("the process is dead")

// request is meet for a request to the object store.
func (l *life) request(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
	switch l.meet(r.Method + " a body") {
	case testkit.Passes:
		return pass()
	case testkit.NeverAnswered:
		answer, err := pass()
		if err == nil {
			answer.Body.Close()
		}
		l.end()
	}
	return nil, errDied
}

// spawn is a process that lives such a life, with connections of its own. Its
// context ends with it.
func (k *keeper) spawn(t *testing.T, l *life) (*keeper, context.Context) {
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
	dying.router = network.Router(t, postgres.RoleAPI)
	dying.faults = testkit.NewStoreFaults(t)
	dying.faults.AtRandom(0, 1, l.request)
	dying.Service = dying.serve(t, dying.router, Options{})
	return &dying, ctx
}

// errand is what a process dies at.
type errand struct {
	name string
	// prepare is done by a process that lives. What it gives is done by one that
	// dies, then by one that lives; it tells of each operation that was answered.
	prepare func(t *testing.T, k *keeper, c string) func(ctx context.Context, s *Service) (answers, error)
	single  bool // whether it is one decision
	least   int  // exchanges that it has: fewer, and this test misses some
}

// answers are receipts by operation id.
type answers map[string]Receipt

// The process dies at every exchange of every errand: before the exchange reaches
// the other side, and when it was done and the answer is on its way. What it leaves
// is as it was before, or as it would be after; its heir, who asks for the same
// again, finds out or does it; and nothing is left but objects that nothing refers
// to.
func TestCrash_AtEveryExchange_LeavesBeforeOrAfter(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for _, e := range errands {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				e.crashEverywhere(t, k)
			})
		}
	})
}

func (e errand) crashEverywhere(t *testing.T, k *keeper) {
	name := func(n int, way string) string { return fmt.Sprintf("%s:%d-%s", e.name, n, way) }
	whole := &life{}
	twin := e.begin(t, k, name(0, "whole"))
	process, ctx := k.spawn(t, whole)
	if _, err := twin.do(ctx, process.Service); err != nil {
		t.Fatalf("with nobody dying: %v", err)
	}
	twin.end(t)
	exchanges := whole.met()
	if len(exchanges) < e.least {
		t.Fatalf("only %d exchanges: %q", len(exchanges), exchanges)
	}
	strays := 0
	for n, exchange := range exchanges {
		for way, answered := range map[string]bool{"before": false, "behind": true} {
			t.Run(fmt.Sprintf("%s %d, %s", way, n+1, exchange), func(t *testing.T) {
				d := e.begin(t, k, name(n+1, way))
				d.after, d.bodies = twin.after, twin.bodies
				d.die(t, &life{last: n + 1, answered: answered})
				d.expectBeforeOrAfter(t)
				strays += d.expectOwnObjects(t)
				d.inherit(t)
			})
		}
	}
	if wanted := k.format == FormatStore && e.name != "deletion"; strays > 0 != wanted {
		t.Errorf("the dead have left %d objects that nothing refers to", strays)
	}
}
