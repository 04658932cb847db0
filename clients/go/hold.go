package holdfast

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// HoldOptions say how a lease is acquired, and how it is given back. The zero value
// asks for a lease of 30 seconds that is free now.
type HoldOptions struct {
	Term           time.Duration // without a renewal, 5 s to 1 h in whole seconds; 30 s if 0. A holder that crashes stalls its world for so long
	ActivateWithin time.Duration // what the replay may take, 5 s to 10 min in whole seconds; 60 s if 0
	Wait           time.Duration // in line, if the lease isn't free; lease_held or lease_awaited at once if 0
	Takeover       bool          // take it also from another process of the same principal, which is fenced then

	// Replay is given what the journal has behind From, through the handoff that
	// made this process the writer, page by page. The context is the work's.
	Replay func(ctx context.Context, entries []JournalEntry) error

	// From is what the program has of the journal already; nothing, if zero.
	// NewJournalChain begins at the first entry too, and holds its hash to tenant and
	// world.
	From JournalChain

	// HandTo is who gets the lease in the end: HandOffToCoordinator if "".
	// HandOffToNext is the first that stands in line, or else the coordinator.
	HandTo LeaseHandoffTo
}

// Hold makes this process the writer of a world for as long as work runs: it
// acquires the world's lease, replays the journal, activates the lease, runs work,
// and gives the lease back, also when work fails or panics.
//
// Meanwhile the lease is renewed at a third of its term. Its end is reckoned by this
// process's own clock, from when a request was sent and not from when its answer
// came, and a tenth of the term early (three seconds at most). Before it may end in
// the service's eyes, work's context is cancelled, with a cause that tells why: a
// *LeaseLostError, which is ErrFenced, ErrLeaseExpired or ErrNotRenewed. Nothing is
// written under the lease from then on, also if the process was stopped and is woken
// up behind the end. Whatever work made and hasn't appended must be thrown away: the
// next holder rebuilds the world from the journal. (A machine that sleeps may stop
// its clock too. Then it is the service alone that refuses.)
//
// When ctx ends, so does work's context, but the lease is kept until work returns:
// its last entries may be appended with context.WithoutCancel.
//
// The error is that of the first step that failed: an *Error where the service
// refused, work's own, or the *LeaseLostError when the lease was lost before work
// ended. The client must be one that Connect made.
func Hold(ctx context.Context, client *ClientWithResponses, world WorldID, options HoldOptions, work func(ctx context.Context, lease *HeldLease) error) (err error) {
	asked, err := newAcquisition(client, world, options)
	if err != nil {
		return err
	}
	grant, sent, err := asked.acquire(ctx)
	if err != nil {
		return fmt.Errorf("holdfast: acquire the lease of %s: %w", world, err)
	}
	lease, ctx, err := newHeldLease(ctx, client, grant, sent)
	if err != nil {
		return err
	}
	renewing := make(chan struct{})
	go func() {
		defer close(renewing)
		lease.keepRenewed()
	}()
	defer func() { // when work panics, too
		over := lease.giveBack(context.WithoutCancel(ctx), options.HandTo)
		<-renewing
		err = outcome(err, over)
	}()
	if err := lease.begin(ctx, client, options, grant.HandoffPosition); err != nil {
		return err
	}
	return work(ctx, lease)
}

// outcome is what Hold tells: what became of the work, and how the lease ended.
func outcome(work, over error) error {
	var lost *LeaseLostError
	switch {
	case over == nil, errors.Is(work, over):
		return work
	case work == nil, errors.Is(work, context.Canceled) && errors.As(over, &lost): // the loss is why
		return over
	default:
		return errors.Join(work, over)
	}
}
