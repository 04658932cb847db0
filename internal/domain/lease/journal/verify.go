package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// maxLine is the longest line that is read, in bytes. The largest entry, a payload
// of 1 MiB, takes less however its JSON is spelt.
const maxLine = 8 << 20

// Verify reads a world's journal from its first entry on, a line each (NDJSON) as
// the API gives it, and holds it to the rules and to checkpoints that were kept
// elsewhere. It gives where the journal ends and who may write there.
//
// What is wrong with the journal or a checkpoint is a *Fault, the first one; other
// errors are those of reading. Memory is bounded by the longest line, so what would
// take a look at all entries at once is not checked: that entry ids are unique.
// Without a checkpoint, nothing shows that a journal has lost its last entries.
func Verify(r io.Reader, tenant domain.TenantID, world string, checkpoints []Checkpoint, keys Keys) (State, error) {
	pending, err := accepted(tenant, world, checkpoints, keys)
	if err != nil {
		return State{}, err
	}
	state := Begin(tenant, world)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() && lines.Err() == nil { // where reading failed, Scan gives half a line first
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		entry, err := ParseLine(lines.Bytes())
		if err != nil {
			return state, &Fault{state.Position + 1, RuleLine, err.Error()}
		}
		if err := state.Apply(entry); err != nil {
			return state, err
		}
		if pending, err = pass(pending, &state); err != nil {
			return state, err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return state, &Fault{state.Position + 1, RuleLine, fmt.Sprintf("it is longer than %d MiB", maxLine>>20)}
	} else if err != nil {
		return state, err
	}
	return state, complete(pending, &state)
}

// accepted gives the checkpoints in the order of their positions, if each is
// signed and of this world.
func accepted(tenant domain.TenantID, world string, checkpoints []Checkpoint, keys Keys) ([]Checkpoint, error) {
	for _, c := range checkpoints {
		err := keys.Verify(c)
		switch {
		case err != nil:
			return nil, &Fault{c.Position, RuleCheckpoint, err.Error()}
		case c.Tenant != tenant || c.World != world:
			return nil, &Fault{c.Position, RuleCheckpoint, "the checkpoint is of another tenant or world"}
		case c.Position < 1:
			return nil, &Fault{c.Position, RuleCheckpoint, "the checkpoint is of no entry"}
		}
	}
	return slices.SortedStableFunc(slices.Values(checkpoints), func(a, b Checkpoint) int {
		return cmp.Compare(a.Position, b.Position)
	}), nil
}

// pass holds the state to the checkpoints at its position, and gives those ahead.
func pass(pending []Checkpoint, s *State) ([]Checkpoint, error) {
	for len(pending) > 0 && pending[0].Position == s.Position {
		if pending[0].Hash != s.Hash {
			return nil, &Fault{s.Position, RuleCheckpoint, "the journal had another hash here when the checkpoint was signed"}
		}
		pending = pending[1:]
	}
	return pending, nil
}

// complete tells a journal that has entries, and all that are known to have been.
func complete(pending []Checkpoint, s *State) error {
	switch {
	case len(pending) > 0:
		last := pending[len(pending)-1].Position
		return &Fault{s.Position + 1, RuleCheckpoint, fmt.Sprintf("the journal ends before it; it had an entry at position %d when the checkpoint was signed", last)}
	case s.Position == 0:
		return &Fault{1, RulePosition, "there is no entry"}
	default:
		return nil
	}
}
