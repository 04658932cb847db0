package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var one = holdfast.NewEntry{JSON: json.RawMessage(`{"n":1}`)}

// once appends one entry and is done.
func once(ctx context.Context, lease *holdfast.HeldLease) error {
	_, err := lease.Append(ctx, one)
	return err
}

func TestHold_ReplaysThroughTheHandoffWritesAndGivesTheLeaseBack(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 2500 {
		w.note("entry", fmt.Sprint("hosted-", i), map[string]any{"format": "json"}, json.RawMessage(fmt.Sprint(i)))
	}
	var replayed []holdfast.JournalEntry
	options := holdfast.HoldOptions{
		From: holdfast.NewJournalChain(worldTenant, testWorld),
		Replay: func(_ context.Context, entries []holdfast.JournalEntry) error {
			replayed = append(replayed, entries...)
			return nil
		},
	}
	err := holdfast.Hold(t.Context(), w.client(t), testWorld, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
		if len(replayed) != 2502 || replayed[2501].Kind != "lease_handed_off" || string(replayed[2500].JSON) != "2499" {
			t.Errorf("replayed %d entries, the last is %+v", len(replayed), replayed[len(replayed)-1])
		}
		receipt, err := lease.Append(ctx, one, holdfast.NewEntry{EntryID: "mine", JSON: json.RawMessage("2")})
		if err != nil || len(receipt.Positions) != 2 || w.written["mine"] != receipt.Positions[1] || receipt.Epoch != lease.Epoch() {
			t.Errorf("%+v, %v", receipt, err)
		}
		return err
	})
	if err != nil || !w.free() || w.ours() != 2502 || w.times("handoff") != 1 {
		t.Errorf("%v; free %v, %d entries", err, w.free(), w.ours())
	}
}

func TestHold_GoesOnFromWhatTheProgramHasOfTheJournal(t *testing.T) {
	t.Parallel()
	w := newWorld()
	kept := holdfast.NewJournalChain(worldTenant, testWorld)
	if err := kept.Follow([]byte(w.lines[0])); err != nil {
		t.Fatal(err)
	}
	var replayed []holdfast.JournalEntry
	err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{From: kept, Replay: func(_ context.Context, entries []holdfast.JournalEntry) error {
		replayed = append(replayed, entries...)
		return nil
	}}, once)
	if err != nil || len(replayed) != 1 || replayed[0].Position != 2 {
		t.Errorf("%v; replayed %+v", err, replayed)
	}
}

func TestHold_NothingIsWrittenBehindAJournalThatDoesNotHoldTogether(t *testing.T) {
	t.Parallel()
	for name, falsify := range map[string]func(w *world, options *holdfast.HoldOptions){
		"a changed entry":   func(w *world, _ *holdfast.HoldOptions) { w.lines[1] = strings.Replace(w.lines[1], "17", "18", 1) },
		"another's journal": func(_ *world, o *holdfast.HoldOptions) { o.From = holdfast.NewJournalChain(worldTenant, "south-1") },
		"a place behind it": func(_ *world, o *holdfast.HoldOptions) { o.From = holdfast.JournalChain{Position: 9} },
		"a replay that fails": func(_ *world, o *holdfast.HoldOptions) {
			o.Replay = func(context.Context, []holdfast.JournalEntry) error { return errors.New("no room") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.note("entry", "hosted", map[string]any{"format": "json"}, json.RawMessage("17"))
			options := holdfast.HoldOptions{}
			falsify(w, &options)
			err := holdfast.Hold(t.Context(), w.client(t), testWorld, options, once)
			if err == nil || w.times("activate") != 0 || w.ours() != 1 || !w.free() {
				t.Errorf("%v; activated %d times, %d entries, free %v", err, w.times("activate"), w.ours(), w.free())
			}
		})
	}
}

func TestHold_ALostAnswerIsAskedForAgainAndNothingIsDoneTwice(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"acquire", "read", "activate", "renew", "journal", "handoff"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.goes = func(asked string, n int) mishap { return mishap{lost: asked == op && n < 3} }
				err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
					time.Sleep(time.Minute)
					return once(ctx, lease)
				})
				if err != nil || w.times(op) < 3 || w.ours() != 1 || w.epoch != 3 || !w.free() {
					t.Errorf("%v; asked %d times, %d entries, epoch %d, free %v", err, w.times(op), w.ours(), w.epoch, w.free())
				}
			})
		})
	}
}

func TestHold_AnAcquisitionThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.goes = func(string, int) mishap { return mishap{unsent: true} }
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Wait: time.Hour}, once)
		if !errors.Is(err, errNetwork) || w.times("acquire") != 4 {
			t.Errorf("%v, asked %d times", err, w.times("acquire"))
		}
	})
}

func TestHold_ALeaseThatIsHeldIsWaitedForAsLongAsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wait, held time.Duration
		waits      []int64
		gets       bool
	}{
		"not at all":     {0, time.Hour, []int64{0}, false},
		"for too short":  {50 * time.Second, time.Hour, []int64{45, 5}, false},
		"long enough":    {time.Hour, 100 * time.Second, []int64{45, 45, 45, 0}, true},
		"just a moment":  {time.Minute, 0, []int64{45}, true},
		"a little while": {time.Minute, 2 * time.Second, []int64{45}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.heldUntil = time.Now().Add(c.held)
				began := time.Now()
				err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Wait: c.wait}, once)
				if (err == nil) != c.gets || !c.gets && !holdfast.IsCode(err, "lease_held") || fmt.Sprint(w.waits) != fmt.Sprint(c.waits) {
					t.Errorf("%v; it waited %v", err, w.waits)
				}
				if took := time.Since(began); took > min(c.wait, c.held)+5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestHold_GivesTheLeaseBackHoweverTheWorkEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("out of ideas")
	for name, c := range map[string]struct {
		work func(context.Context, *holdfast.HeldLease) error
		want error
	}{
		"done":   {once, nil},
		"failed": {func(context.Context, *holdfast.HeldLease) error { return failed }, failed},
		"gave it away itself": {func(ctx context.Context, lease *holdfast.HeldLease) error {
			if err := lease.HandOff(ctx, holdfast.HandOffToCoordinator); err != nil {
				return err
			}
			if _, err := lease.Append(context.WithoutCancel(ctx), one); !errors.Is(err, holdfast.ErrHandedOff) {
				return fmt.Errorf("appended: %w", err)
			}
			return context.Cause(ctx)
		}, holdfast.ErrHandedOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, c.work)
			if !errors.Is(err, c.want) || !w.free() || w.epoch != 3 {
				t.Errorf("%v; free %v at epoch %d", err, w.free(), w.epoch)
			}
		})
	}
	t.Run("panicked", func(t *testing.T) {
		t.Parallel()
		w := newWorld()
		defer func() {
			if told := recover(); told != "boom" || !w.free() {
				t.Errorf("recovered %v; free %v", told, w.free())
			}
		}()
		holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(context.Context, *holdfast.HeldLease) error { panic("boom") })
	})
}

func TestHold_HandsToTheNextInLineIfThereIsOne(t *testing.T) {
	t.Parallel()
	for waiting, handoffs := range map[bool]int{true: 1, false: 2} {
		w := newWorld()
		w.line = waiting
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{HandTo: holdfast.HandOffToNext}, once)
		if err != nil || !w.free() || w.times("handoff") != handoffs {
			t.Errorf("%v; free %v after %d handoffs", err, w.free(), w.times("handoff"))
		}
	}
}

func TestHold_AHandoffToNobodyLeavesTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld()
	err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		if err := lease.HandOff(ctx, holdfast.HandOffToNext); !holdfast.IsCode(err, "nobody_waits") {
			return fmt.Errorf("handed off: %w", err)
		}
		return once(ctx, lease)
	})
	if err != nil || w.ours() != 1 {
		t.Errorf("%v; %d entries", err, w.ours())
	}
}

func TestHold_WhenTheCallersContextEndsTheLastEntriesMayStillBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := holdfast.Hold(ctx, w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
			<-ctx.Done()
			if _, err := lease.Append(ctx, one); err == nil {
				return errors.New("the context has ended and it wrote")
			}
			time.Sleep(time.Minute) // to tidy up
			if err := once(context.WithoutCancel(ctx), lease); err != nil {
				return err
			}
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || w.ours() != 1 || !w.free() {
			t.Errorf("%v; %d entries, free %v", err, w.ours(), w.free())
		}
	})
}

func TestHold_NeedsAClientOfConnects(t *testing.T) {
	t.Parallel()
	client, err := holdfast.NewClientWithResponses("https://holdfast.test", holdfast.WithHTTPClient(newWorld()))
	if err != nil {
		t.Fatal(err)
	}
	if err := holdfast.Hold(t.Context(), client, testWorld, holdfast.HoldOptions{}, once); err == nil {
		t.Error("it took another")
	}
}
