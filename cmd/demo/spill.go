package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

const spilledWorld = "harbour"

// spillAWorld lets a process of the tenant's take a world over, stops it in its
// tracks past its term, and shows that it can't write behind whoever came after it.
func spillAWorld(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("A world, and who may write to it")
	sp := &spill{stack: s, hosted: s.acme.client}
	defer sp.end()
	if err := n.steps([]step{
		{"acme makes the world harbour, and writes three turns to its journal by Holdfast", func() error { return sp.make(ctx) }},
		{"the same turns again, by their ids, are answered with the first receipt", func() error { return sp.writeAgain(ctx) }},
		{"node-1, a process of acme's, takes the world over: it replays, and plays a turn", func() error { return sp.startFirst(ctx) }},
		{"what acme itself writes now is fenced, and the answer names node-1", func() error {
			return expectFenced(sp.write(ctx, "intruder"), 2, sp.first.id)
		}},
		{"node-1 is stopped in its tracks; its term of 5 s runs out, and node-2 takes over", func() error { return sp.overtake(ctx) }},
		{"node-2 has all four turns, the one that node-1 played too, and plays the fifth", func() error {
			return expect(sp.found.sum == 5, "its sum is %d", sp.found.sum)
		}},
		{"node-1 wakes up: by its own clock it's over, and what it sends anyway is fenced", func() error { return sp.wake(ctx) }},
		{"the journal has that attempt: by whom, and with which epoch", func() error { return sp.findEvidence(ctx) }},
	}); err != nil {
		return err
	}
	n.note("position %d: %s, of node-1 with epoch 2 at epoch 4", sp.evidence.Position, sp.evidence.Kind)
	return n.steps([]step{
		{"node-2 hands the world back, and acme writes again", func() error { return sp.handBack(ctx) }},
		{"Holdfast proves, by an entry, that node-1 was the writer at its turn's position", func() error { return sp.prove(ctx) }},
		{"holdfast journal verify finds the downloaded journal sound, with only that file", func() error { return sp.verify(ctx) }},
		{"and faulty without that attempt", func() error { return sp.verifyWithout(ctx, sp.evidence.Position, nil) }},
		{"with a signed checkpoint of its end that is kept, it is sound too", func() error { return sp.verifyWithCheckpoint(ctx) }},
		{"and faulty without its last line, which the journal alone couldn't show", func() error { return sp.verifyCut(ctx) }},
	})
}

// spill is the world's story.
type spill struct {
	*stack
	hosted        *holdfast.ClientWithResponses // writes through the coordinator
	receipt       holdfast.AppendReceipt        // of the first turns
	first, second worldNode
	process       *launch.Process // of the first node
	found         game            // of the second
	release       context.CancelFunc
	released      chan error // how the second node's lease ended
	evidence      holdfast.JournalEntry
	checkpoint    []byte // as it came
	keys          []byte // that verify checkpoints
}

// worldNode is a principal who may take worlds over.
type worldNode struct {
	name, key string
	id        holdfast.ID
}

func (sp *spill) end() {
	if sp.process != nil {
		sp.process.Kill()
	}
	if sp.release != nil {
		sp.release()
		<-sp.released
	}
}

func (sp *spill) make(ctx context.Context) (err error) {
	for name, into := range map[string]*worldNode{"node-1": &sp.first, "node-2": &sp.second} {
		if *into, err = sp.newNode(ctx, name); err != nil {
			return err
		}
	}
	if _, err := sp.hosted.CreateWorldWithResponse(ctx, holdfast.NewWorld{WorldID: spilledWorld}); err != nil {
		return err
	}
	written, err := sp.writeTurns(ctx)
	if err != nil {
		return err
	}
	if written.JSON201 == nil {
		return errors.New("they were there already")
	}
	sp.receipt = *written.JSON201
	return expect(slices.Equal(sp.receipt.Positions, []int64{2, 3, 4}) && sp.receipt.Epoch == 1, "the receipt is %+v", sp.receipt)
}

func (sp *spill) writeTurns(ctx context.Context) (*holdfast.AppendEntriesResponse, error) {
	var played game
	return sp.hosted.AppendEntriesWithResponse(ctx, spilledWorld, nil,
		holdfast.NewEntries{Entries: []holdfast.NewEntry{played.turn(), played.turn(), played.turn()}})
}

func (sp *spill) writeAgain(ctx context.Context) error {
	again, err := sp.writeTurns(ctx)
	if err != nil {
		return err
	}
	same := again.JSON200 != nil && again.JSON200.Replayed && slices.Equal(again.JSON200.Positions, sp.receipt.Positions) && again.JSON200.ChainHash == sp.receipt.ChainHash
	return expect(same, "the answer is %s", again.Body)
}

// write writes a remark, which is no turn, without any lease.
func (sp *spill) write(ctx context.Context, remark string) error {
	_, err := sp.hosted.AppendEntriesWithResponse(ctx, spilledWorld, nil,
		holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: remark, JSON: json.RawMessage(`"` + remark + `"`)}}})
	return err
}

// startFirst starts the first node as a process of its own, which is ready when it
// has played its turn.
func (sp *spill) startFirst(ctx context.Context) (err error) {
	settings := []string{nodeURL + "=" + sp.url(), nodeKey + "=" + sp.first.key, nodeWorld + "=" + spilledWorld}
	if sp.process, err = launch.Start(ctx, []string{"demo", node}, settings, sp.log); err != nil {
		return err
	}
	return sp.expectWriter(ctx, 2, sp.first)
}

func (sp *spill) expectWriter(ctx context.Context, epoch int64, holder worldNode) error {
	now, err := sp.hosted.GetLeaseWithResponse(ctx, spilledWorld, nil)
	if err != nil {
		return err
	}
	lease := now.JSON200
	return expect(lease.Epoch == epoch && lease.Holder.Subject == holder.id, "%+v holds at epoch %d", lease.Holder, lease.Epoch)
}

// overtake stops the first node, as a long pause of its machine would, and has the
// second one wait until it gets the world. That holds it until it is released.
func (sp *spill) overtake(ctx context.Context) error {
	if err := syscall.Kill(sp.process.PID(), syscall.SIGSTOP); err != nil {
		return err
	}
	client, err := sp.connect(sp.second.key)
	if err != nil {
		return err
	}
	ctx, sp.release = context.WithCancel(ctx)
	sp.released = make(chan error, 1)
	holds := make(chan struct{})
	options := holdfast.HoldOptions{Term: nodeTerm, Wait: 6 * nodeTerm, Replay: sp.found.replay}
	go func() {
		defer close(sp.released)
		sp.released <- holdfast.Hold(ctx, client, spilledWorld, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
			if _, err := lease.Append(ctx, sp.found.turn()); err != nil {
				return err
			}
			close(holds)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	select {
	case <-holds:
		return sp.expectWriter(ctx, 4, sp.second)
	case err := <-sp.released:
		return fmt.Errorf("node-2 doesn't hold it: %w", err)
	}
}

// wake lets the first node run on. It checks by itself that it can't write.
func (sp *spill) wake(ctx context.Context) error {
	if err := syscall.Kill(sp.process.PID(), syscall.SIGCONT); err != nil {
		return err
	}
	select {
	case <-sp.process.Done():
		if sp.process.Err() != nil {
			return sp.process.End()
		}
		return nil
	case <-time.After(2 * nodeTerm):
		return errors.New("node-1 goes on")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (sp *spill) handBack(ctx context.Context) error {
	sp.release()
	if err := <-sp.released; !errors.Is(err, context.Canceled) {
		return fmt.Errorf("node-2's lease: %w", err)
	}
	if err := sp.write(ctx, "back"); err != nil {
		return err
	}
	return sp.expectWriter(ctx, 5, worldNode{})
}

// expectFenced says that an append must have been refused since somebody else holds
// at that epoch: the principal, where one is named.
func expectFenced(err error, epoch int64, holder holdfast.ID) error {
	if err := expectCode(err, http.StatusConflict, "fenced"); err != nil {
		return err
	}
	var refused *holdfast.Error
	errors.As(err, &refused)
	right := refused.Epoch != nil && *refused.Epoch == epoch && refused.Holder != nil && (holder == "" || refused.Holder.Subject == holder)
	return expect(right, "it names epoch %v and %+v", refused.Epoch, refused.Holder)
}
