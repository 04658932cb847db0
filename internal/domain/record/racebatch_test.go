package record

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func claimRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	for round := range rounds {
		keys := []string{fmt.Sprint(round, "-x"), fmt.Sprint(round, "-y"), fmt.Sprint(round, "-z")}
		batches := make([]Batch, r.size())
		errs := r.race(func(k *keeper, nth int) (err error) {
			own := []string{keys[nth%3], keys[(nth+1)%3]}
			batches[nth], err = k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: fmt.Sprint(round, "/", nth), Owner: "w", Items: own})
			return err
		})
		has := map[string][]int64{}
		for i, err := range errs {
			if err != nil {
				t.Error(err)
			}
			for _, item := range batches[i].Items {
				if item.State == ItemLeased {
					has[item.Key] = append(has[item.Key], item.Generation)
				}
			}
		}
		for _, key := range keys {
			if len(has[key]) != 1 {
				t.Errorf("%s is leased under the generations %v", key, has[key])
			}
		}
	}
	k.expectSound(t, c)
}

func completionRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	for round := range rounds {
		batch, x, y := fmt.Sprint("b", round), fmt.Sprint(round, "-x"), fmt.Sprint(round, "-y")
		generations := k.claimItems(t, c, batch, x, y)
		done := make([]Completion, r.size())
		errs := r.race(func(k *keeper, nth int) (err error) {
			one, other := items(x, x), items(y, y)
			one.OperationID, other.OperationID = x, y
			one.Claim, other.Claim = &Claim{Generation: generations[x]}, &Claim{Generation: generations[y]}
			done[nth], err = k.Complete(t.Context(), k.scope, c, nil, batch, CompleteBatch{OperationID: batch, Items: []Publication{one, other}})
			return err
		})
		first := 0
		for i, err := range errs {
			if err != nil {
				t.Errorf("a retry of the completion: %v", err)
			}
			if !done[i].Replayed {
				first++
			}
			done[i].Replayed = false
			if diff := cmp.Diff(done[0], done[i]); diff != "" {
				t.Errorf("two completions\n%s", diff)
			}
		}
		if first != 1 || done[0].Items[0].Outcome != ItemPublished || done[0].Items[1].Receipt.Revision != 1 {
			t.Errorf("%d made it: %+v", first, done[0])
		}
	}
	k.expectSound(t, c)
}

// twoCompletionsRace has each caller complete the batch as its own operation, and
// publish nothing: all are conflicts.
func twoCompletionsRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	for round := range rounds {
		batch, key := fmt.Sprint("b", round), fmt.Sprint(round, "-x")
		generation := k.claimItems(t, c, batch, key)[key]
		errs := r.race(func(k *keeper, nth int) error {
			p := items(key, "x")
			p.OperationID, p.Expect, p.Claim = fmt.Sprint(round, "/", nth), Expectation{Revision: 9}, &Claim{Generation: generation}
			done, err := k.Complete(t.Context(), k.scope, c, nil, batch, CompleteBatch{OperationID: fmt.Sprint(round, "-all-", nth), Items: []Publication{p}})
			if err == nil && done.Items[0].Outcome != ItemConflict {
				t.Errorf("completed as %+v", done)
			}
			return err
		})
		expectOneWinner(t, errs, "batch_completed")
	}
	k.expectSound(t, c)
}

// heartbeatRace has a batch's producer beat while it completes: a beat that was
// answered with a claim was before the end, and none is behind it.
func heartbeatRace(t *testing.T, k *keeper, r racers) {
	c := k.collection(t, fmt.Sprint("race-", k.names.Add(1)))
	for round := range rounds {
		batch, key := fmt.Sprint("b", round), fmt.Sprint(round, "-x")
		generation := k.claimItems(t, c, batch, key)[key]
		errs := r.race(func(k *keeper, nth int) error {
			if nth == 0 {
				p := items(key, "x")
				p.OperationID, p.Expect, p.Claim = key, Expectation{Revision: 9}, &Claim{Generation: generation}
				_, err := k.Complete(t.Context(), k.scope, c, nil, batch, CompleteBatch{OperationID: batch, Items: []Publication{p}})
				return err
			}
			_, err := k.Heartbeat(t.Context(), k.scope, c, nil, batch, []ClaimedItem{{key, generation}}, MaxBatchTerm)
			return err
		})
		for nth, err := range errs {
			if err != nil && (nth == 0 || domain.CodeOf(err) != "batch_completed") {
				t.Errorf("%d: %v", nth, err)
			}
		}
		var claims int
		if err := k.adminOf(c).QueryRow(t.Context(), `SELECT count(*) FROM item_claims WHERE item_key = $1 AND batch_id = $2`, key, batch).Scan(&claims); err != nil || claims != 0 {
			t.Errorf("%d claims are left of a completed batch, %v", claims, err)
		}
	}
	k.expectSound(t, c)
}
