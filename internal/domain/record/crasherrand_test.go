package record

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// chunkyBody is one that goes into chunks in SQL, of which some are sent ahead.
var chunkyBody = bytes.Repeat([]byte("\x00\xff chunks\r\n"), 110_000)

var errands = []errand{
	{name: "change", prepare: prepareChange, single: true, least: 3},
	{name: "creation", prepare: prepareCreation, single: true, least: 3},
	{name: "deletion", prepare: prepareDeletion, single: true, least: 3},
	{name: "many", prepare: prepareMany, least: 8},
	{name: "completion", prepare: prepareCompletion, single: true, least: 3},
}

// prepareChange changes a record that has bodies in each way, under a fence and a
// claim.
func prepareChange(t *testing.T, k *keeper, c string) func(context.Context, *Service) (answers, error) {
	k.publish(t, c, Publication{
		Key: "a", OperationID: "op-before", Expect: Expectation{Absent: true},
		Bodies: map[string][]byte{"items": slices.Concat(chunkyBody, []byte("old")), "plans": []byte("old plans"), "decision-packets": {}},
	})
	claimed := k.claimItems(t, c, "batch", "a")
	return k.publishes(c, func() Publication {
		return Publication{
			Key: "a", OperationID: "op-a", Expect: Expectation{Fence: &Fence{"a", 7}}, Claim: &Claim{"batch", claimed["a"]},
			Bodies: map[string][]byte{"items": chunkyBody, "decision-packets": []byte("new packets")}, Tombstones: []string{"plans"},
		}
	})
}

func prepareCreation(_ *testing.T, k *keeper, c string) func(context.Context, *Service) (answers, error) {
	return k.publishes(c, func() Publication {
		return Publication{
			Key: "a", OperationID: "op-a", Expect: Expectation{Absent: true},
			Bodies: map[string][]byte{"items": chunkyBody, "plans": {}},
		}
	})
}

func prepareDeletion(t *testing.T, k *keeper, c string) func(context.Context, *Service) (answers, error) {
	k.publish(t, c, Publication{
		Key: "a", OperationID: "op-before", Expect: Expectation{Absent: true},
		Bodies: map[string][]byte{"closed": chunkyBody, "decision-packets": []byte("packets")},
	})
	return func(ctx context.Context, s *Service) (answers, error) {
		return answered(s.Delete(ctx, k.scope, c, nil, "a", 1, "op-a"))
	}
}

func (k *keeper) publishes(c string, p func() Publication) func(context.Context, *Service) (answers, error) {
	return func(ctx context.Context, s *Service) (answers, error) {
		return answered(s.Publish(ctx, k.scope, c, nil, p()))
	}
}

func answered(receipt Receipt, err error) (answers, error) {
	if err != nil {
		return nil, err
	}
	return answers{receipt.OperationID: receipt}, nil
}

// prepareMany publishes five records at once, each for itself: one is superseded,
// and one is refused.
func prepareMany(t *testing.T, k *keeper, c string) func(context.Context, *Service) (answers, error) {
	k.publish(t, c, Publication{Key: "b", OperationID: "op-before", Expect: Expectation{Fence: &Fence{"b", 9}}, Bodies: map[string][]byte{"items": []byte("newest")}})
	return func(ctx context.Context, s *Service) (answers, error) {
		all := []Publication{
			{Key: "a", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": chunkyBody}},
			{Key: "b", Expect: Expectation{Fence: &Fence{"b", 8}}, Bodies: map[string][]byte{"items": []byte("late")}},
			{Key: "c", Expect: Expectation{Revision: 3}, Bodies: map[string][]byte{"items": []byte("of nothing")}},
			{Key: "d", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"closed": []byte("d")}},
			{Key: "e", Expect: Expectation{Digests: map[string]*Digest{"items": nil}}, Bodies: map[string][]byte{"items": []byte("e")}},
		}
		for i := range all {
			all[i].OperationID = "op-" + all[i].Key
		}
		made, err := s.PublishEach(ctx, k.scope, c, nil, all)
		if err != nil {
			return nil, err
		}
		got := answers{}
		for i, m := range made {
			switch {
			case m.Err == nil:
				got[all[i].OperationID] = m.Receipt
			case domain.CodeOf(m.Err) != "record_not_found":
				err = m.Err
			}
		}
		return got, err
	}
}

// prepareCompletion completes a batch of four: two are published, one of them for
// the second time, one is refused, and one is let go.
func prepareCompletion(t *testing.T, k *keeper, c string) func(context.Context, *Service) (answers, error) {
	k.publish(t, c, Publication{Key: "b", OperationID: "op-before", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("b")}})
	claimed := k.claimItems(t, c, "batch", "a", "b", "c", "d")
	return func(ctx context.Context, s *Service) (answers, error) {
		completion, err := s.Complete(ctx, k.scope, c, nil, "batch", CompleteBatch{OperationID: "op-batch", Items: []Publication{
			{Key: "a", OperationID: "op-a", Expect: Expectation{Absent: true}, Claim: &Claim{Generation: claimed["a"]}, Bodies: map[string][]byte{"items": chunkyBody}},
			{Key: "b", OperationID: "op-b", Expect: Expectation{Revision: 1}, Claim: &Claim{Generation: claimed["b"]}, Bodies: map[string][]byte{"closed": []byte("done")}},
			{Key: "c", OperationID: "op-c", Expect: Expectation{Revision: 5}, Claim: &Claim{Generation: claimed["c"]}, Bodies: map[string][]byte{"items": []byte("of nothing")}},
		}})
		if err != nil {
			return nil, err
		}
		var outcomes []string
		got := answers{}
		for _, item := range completion.Items {
			outcomes = append(outcomes, string(item.Outcome))
			if r := item.Receipt; r != nil {
				r.Replayed = completion.Replayed
				got[r.OperationID] = *r
			}
		}
		// A completion's own receipt, as if it were a publication's.
		got["op-batch"] = Receipt{OperationID: "op-batch", Outcome: Outcome(strings.Join(outcomes, " ")), At: completion.At, Replayed: completion.Replayed}
		return got, nil
	}
}

// claimItems claims items for as long as a test may take, and gives their generations.
func (k *keeper) claimItems(t *testing.T, c, batch string, keys ...string) map[string]int64 {
	t.Helper()
	b, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: batch, Owner: "worker", Items: keys, Term: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	generations := map[string]int64{}
	for _, item := range b.Items {
		generations[item.Key] = item.Generation
	}
	return generations
}
