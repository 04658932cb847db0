package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// replayPage is how many entries are read at a time: as many as the service gives.
const replayPage = 1000

// begin does what comes between the acquisition and the work.
func (l *HeldLease) begin(ctx context.Context, client *ClientWithResponses, options HoldOptions, handoff int64) error {
	chain, err := l.replay(ctx, client, options, handoff)
	if err != nil {
		return err
	}
	return l.activate(ctx, chain)
}

// replay follows the journal through the handoff.
func (l *HeldLease) replay(ctx context.Context, client *ClientWithResponses, options HoldOptions, handoff int64) (JournalChain, error) {
	chain, limit := options.From, int64(replayPage)
	for chain.Position < handoff {
		page, err := client.ReadJournalWithResponse(ctx, l.world, &ReadJournalParams{After: &chain.Position, Limit: &limit})
		if err != nil {
			return chain, fmt.Errorf("holdfast: read the journal of %s: %w", l.world, err)
		}
		entries, err := chain.followPage(page.Body, handoff)
		if err != nil {
			return chain, err
		}
		if options.Replay == nil {
			continue
		}
		if err := options.Replay(ctx, entries); err != nil {
			return chain, err
		}
	}
	if chain.Position != handoff {
		return chain, fmt.Errorf("holdfast: the journal of %s was handed over at position %d, and the replay begins at %d", l.world, handoff, chain.Position)
	}
	return chain, nil
}

// followPage goes on through a page of the journal, up to a position at most, and
// gives what it went through, at least one entry.
func (c *JournalChain) followPage(page []byte, through int64) ([]JournalEntry, error) {
	var read struct {
		Entries []json.RawMessage `json:"entries"` // as they stand: that is what their hashes are of
	}
	if err := json.Unmarshal(page, &read); err != nil {
		return nil, fmt.Errorf("holdfast: a page of the journal: %w", err)
	}
	entries := make([]JournalEntry, 0, len(read.Entries))
	for _, raw := range read.Entries {
		if c.Position == through {
			break
		}
		if err := c.Follow(raw); err != nil {
			return nil, err
		}
		var entry JournalEntry
		if err := json.Unmarshal(raw, &entry); err != nil {
			return nil, fmt.Errorf("holdfast: the entry at position %d: %w", c.Position, err)
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("holdfast: the journal ends at position %d, before the handoff at %d", c.Position, through)
	}
	return entries, nil
}

// activate shows what was replayed, and may be repeated.
func (l *HeldLease) activate(ctx context.Context, chain JournalChain) error {
	err := l.ask(ctx, func(ctx context.Context) error {
		sent := time.Now()
		answer, err := l.once.ActivateLeaseWithResponse(ctx, l.world, &ActivateLeaseParams{HoldfastLease: l.authority},
			LeaseActivation{ReplayedPosition: chain.Position, ChainHash: chain.Hash})
		if err == nil && answer.JSON200.RemainingMs != nil {
			l.extend(sent, milliseconds(*answer.JSON200.RemainingMs))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("holdfast: activate the lease of %s: %w", l.world, err)
	}
	if l.untilRenewal() <= l.term/marginPart {
		l.renewNow() // until here it went no further than the activation's own deadline
	}
	return nil
}
