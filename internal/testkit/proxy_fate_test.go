package testkit_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestProxy_EachExchangeMeetsTheFateThatIsDecided(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	if err := m.mark(t.Context(), "warm"); err != nil {
		t.Fatal(err)
	}
	for name, fates := range map[string]struct {
		of   []testkit.Fate // of the exchanges of a cold connection: to prepare the statements, and to run them
		made bool
	}{
		"both pass":               {[]testkit.Fate{testkit.Passes, testkit.Passes}, true},
		"the first never arrives": {[]testkit.Fate{testkit.NeverArrives}, false},
		"the first's answer":      {[]testkit.Fate{testkit.NeverAnswered}, false},
		"the second":              {[]testkit.Fate{testkit.Passes, testkit.NeverArrives}, false},
		"the second's answer":     {[]testkit.Fate{testkit.Passes, testkit.NeverAnswered}, true},
	} {
		m.pool.Reset()
		var mu sync.Mutex
		var met []string
		m.Decide(func(statement string) testkit.Fate {
			mu.Lock()
			defer mu.Unlock()
			met = append(met, statement)
			return fates.of[len(met)-1]
		})
		err := m.mark(t.Context(), name)
		mu.Lock() // the proxy's goroutine may still be ending
		asked := slices.Clone(met)
		mu.Unlock()
		wantErr := fates.of[len(fates.of)-1] != testkit.Passes
		if (err != nil) != wantErr || m.found(t, name) != fates.made || len(asked) != len(fates.of) {
			t.Errorf("%s: %v, made: %v, exchanges that began with %q", name, err, m.found(t, name), fmt.Sprint(asked))
		}
	}
}
