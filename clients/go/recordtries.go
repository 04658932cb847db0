package holdfast

import (
	"context"
	"errors"
	"time"
)

// longestRecordTry is how long one try at a change of records may go without an
// answer: a little longer than the two minutes that the service may take. A client's
// own timeout may be shorter.
const longestRecordTry = 130 * time.Second

// patience decides whether something that may be repeated is tried again.
type patience struct {
	attempts int // that may fail in a row; 0 for as many as there is time for
	failures int // in a row
}

// waits waits until the next try is due, if err may pass and there is another try.
func (p *patience) waits(ctx context.Context, err error) bool {
	p.failures++
	var final *finalError
	pause, again := repeatAfter(err, p.failures)
	if errors.As(err, &final) || !again || p.failures == p.attempts {
		return false
	}
	return wait(ctx, pause) == nil
}

// untilAnswered calls until there is an answer that stands, or ctx ends. What it
// calls must be one try at something that is done once, however often it is asked
// for.
func untilAnswered(ctx context.Context, call func(context.Context) error) error {
	var p patience
	for {
		err := try(ctx, longestRecordTry, call)
		if err == nil || !p.waits(ctx, err) {
			return err
		}
	}
}

// finalError is a failure that no further try would better.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// always is what singly asks where nothing limits a request but its context.
func always() error { return nil }
