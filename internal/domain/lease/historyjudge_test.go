package lease

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// judge holds a history to the specification, and its journal to the history.
func (c *coordinator) judge(t *testing.T, h *history) {
	t.Helper()
	_, all := c.replay(t, h.arena)
	ids := ""
	written := map[string]journal.Entry{}
	for _, e := range all {
		if e.Kind != journal.KindEntry {
			continue
		}
		ids += e.EntryID + " "
		if _, twice := written[e.EntryID]; twice {
			t.Errorf("%s: entry %s is there twice", h.arena, e.EntryID)
		}
		written[e.EntryID] = e
		if _, acknowledged := h.receipts[e.EntryID]; !acknowledged && !h.doubtful[e.EntryID] {
			t.Errorf("%s: entry %s was refused, and is there at %d", h.arena, e.EntryID, e.Position)
		}
	}
	for id, receipt := range h.receipts {
		if e := written[id]; e.Position != receipt.Positions[0] || e.Hash != receipt.Hash || e.Epoch != receipt.Epoch {
			t.Errorf("%s: %s was acknowledged as %+v, and there is %+v", h.arena, id, receipt, e)
		}
	}
	expectInForce(t, h.arena, all)
	if told, _ := c.refusals(t, h.arena, all); told < h.refused || told > h.refused+h.lost {
		t.Errorf("%s: %d appends were refused, and of %d it is unknown; the journal tells of %d", h.arena, h.refused, h.lost, told)
	}

	end := int64(time.Since(h.began))
	h.operations = append(h.operations, porcupine.Operation{
		ClientId: 9, Input: request{kind: "journal"}, Output: response{ids: ids}, Call: end, Return: end + 1,
	})
	happened := slices.DeleteFunc(slices.Clone(h.operations), func(o porcupine.Operation) bool {
		in := o.Input.(request)
		_, is := written[in.id]
		return in.kind == "append" && o.Output.(response).unknown && !is
	})
	if result := porcupine.CheckOperationsTimeout(endingIn(ids), outlasting(happened), time.Minute); result != porcupine.Ok {
		t.Errorf("%s: %s", h.arena, result)
		for _, operation := range h.operations {
			t.Logf("%d %d-%d %+v: %+v", operation.ClientId, operation.Call, operation.Return, operation.Input, operation.Output)
		}
	}
	t.Logf("%s: %d requests, %d of unknown outcome, %d entries in %d", h.arena, len(h.operations), h.unknown(), len(written), len(all))
}

// outlasting lets each step of the clock last until all requests have ended that were
// under way in it: one that has read the clock before may be seen later, since a look
// at a lease waits for nobody.
func outlasting(all []porcupine.Operation) []porcupine.Operation {
	for i := range all {
		step := &all[i]
		if step.Input.(request).kind != "advance" {
			continue
		}
		set := step.Return
		for _, o := range all {
			if o.Call < set {
				step.Return = max(step.Return, o.Return)
			}
		}
	}
	return all
}

func (h *history) unknown() (n int) {
	for _, operation := range h.operations {
		if operation.Output.(response).unknown {
			n++
		}
	}
	return n
}

// expectInForce finds each entry's writer anew, by the lease entries in front of it.
func expectInForce(t *testing.T, world string, all []journal.Entry) {
	t.Helper()
	writer, activated, epoch := journal.Coordinator, true, int64(1)
	var until time.Time
	for i := range all {
		e := &all[i]
		switch e.Kind {
		case journal.KindLeaseHandedOff:
			d := detailsOf[journal.HandedOff](t, e)
			writer, activated, until, epoch = d.To, d.To.IsCoordinator(), time.Time(d.ExpiresAt), epoch+1
		case journal.KindLeaseGranted:
			writer, activated, until, epoch = journal.Coordinator, true, time.Time{}, epoch+1
		case journal.KindLeaseActivated:
			activated = true
		case journal.KindLeaseRenewed:
			until = time.Time(detailsOf[journal.Renewed](t, e).ExpiresAt)
		case journal.KindEntry:
			hosted := writer.IsCoordinator()
			if e.Epoch != epoch || !activated || !hosted && (e.Actor != writer || !e.At.Before(until)) {
				t.Errorf("%s: entry %d of %v was accepted outside the lease of %v", world, e.Position, e.Actor, writer)
			}
		}
	}
}
