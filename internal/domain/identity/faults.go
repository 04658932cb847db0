package identity

import (
	"context"
	"errors"
)

// Faults is told of the points between two transactions of the protocol. An
// error makes the caller stop there, as if the process had died: nothing that
// would clean up runs. Production has none.
type Faults interface {
	Reach(ctx context.Context, point string) error
}

type noFaults struct{}

func (noFaults) Reach(context.Context, string) error { return nil }

// stop is what Faults said, so that no clean-up runs behind it.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

func stopped(err error) bool { return errors.As(err, new(stop)) }

// reach is a point between two transactions.
func (s *Service) reach(ctx context.Context, point string) error {
	if err := s.faults.Reach(ctx, point); err != nil {
		return stop{err}
	}
	return nil
}
