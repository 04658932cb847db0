package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// giveBackWithin bounds what Hold does for a lease that its work is done with. A
// lease that can't be given back ends with its term.
const giveBackWithin = 15 * time.Second

// HandOff gives the lease to the coordinator or to the first in line, when the
// appends that are under way have ended. From then on the lease is over, with the
// reason ErrHandedOff, and the work's context with it.
//
// With HandOffToNext and nobody in line it fails with the code nobody_waits, and the
// lease stays.
func (l *HeldLease) HandOff(ctx context.Context, to LeaseHandoffTo) error {
	release, err := l.take(ctx, allTurns)
	if err != nil {
		return err
	}
	defer release()
	asked := false
	err = l.ask(ctx, func(ctx context.Context) error {
		_, err := l.once.HandOffLeaseWithResponse(ctx, l.world, &HandOffLeaseParams{HoldfastLease: l.authority}, LeaseHandoff{To: to})
		if asked && IsCode(err, "fenced") {
			return nil // by the handoff whose answer was lost
		}
		asked = true
		return err
	})
	if err != nil {
		return err
	}
	l.end(ErrHandedOff)
	return nil
}

// giveBack gives the lease away in the end, unless it is over. Its error is how else
// the lease ended.
func (l *HeldLease) giveBack(ctx context.Context, to LeaseHandoffTo) error {
	defer l.end(ErrHandedOff) // so that it is over in any case
	if over := l.Err(); errors.Is(over, ErrHandedOff) {
		return nil
	} else if over != nil {
		return over
	}
	ctx, cancel := context.WithTimeout(ctx, giveBackWithin)
	defer cancel()
	var err error
	if to == HandOffToNext {
		err = l.HandOff(ctx, HandOffToNext)
	}
	if to != HandOffToNext || IsCode(err, "nobody_waits") {
		err = l.HandOff(ctx, HandOffToCoordinator)
	}
	var lost *LeaseLostError
	if err != nil && !errors.As(err, &lost) {
		err = fmt.Errorf("holdfast: give back the lease of %s: %w", l.world, err)
	}
	return err
}
