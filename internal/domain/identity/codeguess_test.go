package identity

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Whenever guesses come, and whichever are refunded: no ten minutes ever see more
// than the limit of those that stay, nobody is refused who is below it, and who
// is refused may come again exactly when he was told.
func TestGuesses_NeverExceedTheLimitInAnyWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const limit = 5
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		var standing guesses
		var charged []time.Time // all that stay, for good
		inWindow := func(end time.Time) (n int) {
			for _, at := range charged {
				if at.After(end.Add(-guessWindow)) {
					n++
				}
			}
			return n
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "guesses") {
			now = now.Add(time.Duration(rapid.IntRange(0, 240).Draw(t, fmt.Sprint("gap ", i))) * time.Second)
			next, at, err := standing.add(now, limit)
			if err != nil {
				var e *domain.Error
				if !errors.As(err, &e) || inWindow(at) < limit {
					t.Fatalf("guess %d is refused with %d in its window: %v", i, inWindow(at), err)
				}
				if _, _, err := standing.add(at.Add(e.RetryAfter-time.Microsecond), limit); err == nil {
					t.Errorf("guess %d could have come before Retry-After", i)
				}
				if _, _, err := standing.add(at.Add(e.RetryAfter), limit); err != nil || e.RetryAfter > guessWindow {
					t.Errorf("guess %d is refused after Retry-After %v too: %v", i, e.RetryAfter, err)
				}
				continue
			}
			if n := len(charged); n > 0 && !at.After(charged[n-1]) {
				t.Fatalf("guess %d is charged at %v, not behind %v", i, at, charged[n-1])
			}
			standing, charged = next, append(charged, at)
			if n := inWindow(at); n > limit {
				t.Fatalf("%d guesses in one window", n)
			}
			if rapid.Bool().Draw(t, fmt.Sprint("right ", i)) {
				standing, charged = standing[:len(standing)-1], charged[:len(charged)-1]
			}
		}
	})
}

// Charges are told apart by their times, so that each is refunded alone: at one
// moment too, and after a clock was put back.
func TestGuesses_OfOneMoment_AreToldApart(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var standing guesses
	for _, back := range []time.Duration{0, 0, time.Hour, time.Second, 0} {
		next, at, err := standing.add(now.Add(-back), 10)
		if n := len(standing); err != nil || n > 0 && !at.After(standing[n-1]) || at.Sub(now) > time.Millisecond {
			t.Errorf("a guess %v before is charged at %v behind %v: %v", back, at, standing, err)
		}
		standing = next
	}
}

func TestLimitsOfGuesses_AreThoseOfTheRFCsAdvice(t *testing.T) {
	t.Parallel()
	if accountGuesses != 10 || guessShare*domain.Numbers > 1000 || guessShare*domain.Numbers < 900 {
		t.Errorf("an account has %d guesses, a tenant %d", accountGuesses, guessShare*domain.Numbers)
	}
}
