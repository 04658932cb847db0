package holdfast

import (
	"context"
	"crypto/rand"
	"slices"
)

// Append writes entries behind the journal, all or none, one behind the other, and
// gives their receipt when they are durable. An entry without an id gets one, so
// that entries whose answer is lost are sent again until it is known what came of
// them, and are written once. That ends with the lease or with ctx.
//
// A *LeaseLostError says that the lease is over. Where an answer was lost before
// that, the entries may have been written: by their ids the journal tells. An
// *Error is a refusal, and nothing was written. At most 1,000 entries with 1 MiB of
// payload together.
func (l *HeldLease) Append(ctx context.Context, entries ...NewEntry) (AppendReceipt, error) {
	entries = slices.Clone(entries)
	for i := range entries {
		if entries[i].EntryID == "" {
			entries[i].EntryID = rand.Text()
		}
	}
	release, err := l.take(ctx, 1)
	if err != nil {
		return AppendReceipt{}, err
	}
	defer release()
	var receipt AppendReceipt
	err = l.ask(ctx, func(ctx context.Context) error {
		answer, err := l.once.AppendEntriesWithResponse(ctx, l.world, &AppendEntriesParams{HoldfastLease: &l.authority}, NewEntries{Entries: entries})
		switch {
		case err != nil:
			return err
		case answer.JSON200 != nil: // an earlier try wrote them
			receipt = *answer.JSON200
		default:
			receipt = *answer.JSON201
		}
		return nil
	})
	return receipt, err
}
