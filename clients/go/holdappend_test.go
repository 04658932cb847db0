package holdfast_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// appended appends one entry, where the first two tries go as told.
func appended(t *testing.T, m mishap) (w *world, receipt holdfast.AppendReceipt, refused error) {
	t.Helper()
	w = newWorld()
	w.goes = func(op string, n int) mishap {
		if op == "journal" && n < 3 {
			return m
		}
		return mishap{}
	}
	err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		receipt, refused = lease.Append(ctx, one)
		return lease.Err()
	})
	if err != nil {
		t.Errorf("the lease: %v", err)
	}
	return w, receipt, refused
}

func TestAppend_IsSentAgainUntilItIsKnownWhatCameOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mishap
		replayed bool
	}{
		"never arrived":       {mishap{unsent: true}, false},
		"the answer was lost": {mishap{lost: true}, true},
		"the answer is late":  {mishap{back: time.Minute}, true},
		"outcome unknown":     {mishap{refuse: "outcome_unknown", status: 503}, false},
		"busy":                {mishap{refuse: "database_busy", status: 503, after: "2"}, false},
		"too often":           {mishap{refuse: "rate_limited", status: 429, after: "40"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, receipt, err := appended(t, c.mishap)
				if err != nil || receipt.Replayed != c.replayed || len(receipt.Positions) != 1 || w.ours() != 1 || w.times("journal") != 3 {
					t.Errorf("%+v, %v; %d entries after %d tries", receipt, err, w.ours(), w.times("journal"))
				}
			})
		})
	}
}

func TestAppend_ARefusalIsTheCallersAndLeavesTheLease(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{"entry_id_reused": 409, "entries_partly_known": 409, "payloads_too_large": 413, "json_number_inexact": 422, "internal": 500} {
		w, _, err := appended(t, mishap{refuse: code, status: status})
		if !holdfast.IsCode(err, code) || w.times("journal") != 1 || w.times("handoff") != 1 {
			t.Errorf("%v after %d tries, %d handoffs", err, w.times("journal"), w.times("handoff"))
		}
	}
}

func TestAppend_DoesNotChangeTheCallersEntries(t *testing.T) {
	t.Parallel()
	w := newWorld()
	mine := []holdfast.NewEntry{one, {EntryID: "mine", JSON: one.JSON}}
	err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		for range 2 { // "mine" is there already, the other one gets another id
			if _, err := lease.Append(ctx, mine[0]); err != nil {
				return err
			}
			if _, err := lease.Append(ctx, mine[1]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || mine[0].EntryID != "" || w.ours() != 3 {
		t.Errorf("%v; the entry is %+v, and there are %d", err, mine[0], w.ours())
	}
}
