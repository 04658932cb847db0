package domain_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const era = int64(1) << 40

func TestLost_IsWhatARestoreTookBack_AndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                    string
		seen, counter, restored int64
		want                    bool
	}{
		{"nothing was seen", 0, era + 5, 7, false},
		{"no restore, behind", 3, 7, 0, false},
		{"no restore, ahead", 9, 7, 0, false},
		{"the shared past", 7, era + 5, 7, false},
		{"the time that was lost", 8, era + 5, 7, true},
		{"the last of the lost era", era - 1, era, 7, true},
		{"the restored end itself", era, era, 7, false},
		{"behind the restore", era + 3, era + 5, 7, false},
		{"everything was lost", 1, era, 0, true},
		{"the past of a second restore", era + 3, 2*era + 1, era + 4, false},
		{"lost by a second restore", era + 5, 2*era + 1, era + 4, true},
		{"an era of which nothing is known", 7, 2*era + 1, era + 4, true},
	} {
		if got := domain.Lost(c.seen, c.counter, c.restored); got != c.want {
			t.Errorf("%s: Lost(%d, %d, %d) is %v", c.name, c.seen, c.counter, c.restored, got)
		}
	}
}

func TestEras_ADenseCounterLacksNothingAcrossThem(t *testing.T) {
	t.Parallel()
	if got := domain.NextEra(7); got != era {
		t.Errorf("behind 7 comes the era at %d", got)
	}
	if got := domain.NextEra(era); got != 2*era {
		t.Errorf("behind an era of which nothing was given out comes the one at %d", got)
	}
	for _, c := range []struct {
		before, next int64
		want         bool
	}{{7, 8, true}, {7, 9, false}, {7, era + 1, true}, {7, era + 2, false}, {era + 3, 3*era + 1, true}, {era + 3, era + 1, false}, {8, 8, false}} {
		if got := domain.NextEraFollows(c.before, c.next); got != c.want {
			t.Errorf("%d behind %d: %v", c.next, c.before, got)
		}
	}
	for _, c := range []struct {
		counter, last int64
		want          bool
	}{{7, 7, true}, {8, 7, false}, {era, 7, true}, {era + 1, 7, false}, {era, era + 1, false}} {
		if got := domain.EndsAt(c.counter, c.last); got != c.want {
			t.Errorf("a counter at %d ends at %d: %v", c.counter, c.last, got)
		}
	}
}
