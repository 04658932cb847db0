package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestBatch_IsClaimedKeptAndCompleted(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "stale", map[string]string{"items": "there"})
		claim := `{"batch_id":"nightly/%","owner":"worker-1","items":["new/1","stale","left"],"term_seconds":60}`
		var batch, again holdfast.Batch
		k.ask(t, "POST", "/batches", claim).into(t, &batch)
		k.ask(t, "POST", "/batches", claim).into(t, &again)
		if diff := cmp.Diff(batch, again); diff != "" || len(batch.Items) != 3 || batch.Items[1].Key != "new/1" || batch.Items[1].State != "leased" {
			t.Fatalf("claimed %+v, and again (-first +again)\n%s", batch, diff)
		}
		k.ask(t, "POST", "/batches", `{"batch_id":"nightly/%","owner":"worker-2","items":["new/1"]}`).expectProblem(t, http.StatusConflict, "batch_exists")
		var other holdfast.Batch
		k.ask(t, "POST", "/batches", `{"batch_id":"other","owner":"worker-2","items":["left","q"]}`).into(t, &other)
		if left := other.Items[0]; left.State != "held" || left.Generation != nil || left.ExpiresAt == nil || !left.ExpiresAt.Equal(*batch.Items[0].ExpiresAt) {
			t.Errorf("what another has is %+v", left)
		}
		generation := *batch.Items[0].Generation
		var beaten holdfast.BatchItems
		k.ask(t, "POST", "/batches/nightly%2F%25/heartbeat", fmt.Sprintf(`{"items":[{"key":"left","generation":%d},{"key":"q","generation":9}],"term_seconds":600}`, generation)).into(t, &beaten)
		if len(beaten.Items) != 2 || beaten.Items[0].State != "leased" || !beaten.Items[0].ExpiresAt.After(*batch.Items[0].ExpiresAt) || beaten.Items[1].State != "lease_expired" {
			t.Errorf("kept are %+v", beaten)
		}
		complete := fmt.Sprintf(`{"operation_id":"done","items":[
			{"key":"new/1","generation":%d,"operation_id":"done-1","if_absent":true,"sections":{"items":{"body":"b25l"}}},
			{"key":"stale","generation":%d,"operation_id":"done-2","if_revision":7,"sections":{"items":{"body":"dHdv"}}}]}`, generation, generation)
		done := k.ask(t, "POST", "/batches/nightly%2F%25/complete", complete)
		var completion holdfast.Completion
		done.into(t, &completion)
		if items := completion.Items; len(items) != 2 || items[0].Outcome != "published" || items[0].Receipt == nil ||
			items[1].Outcome != "conflict" || items[1].Problem == nil || items[1].Problem.Code != "revision_stale" {
			t.Fatalf("completed as %d %s", done.status, done.body)
		}
		replay := k.ask(t, "POST", "/batches/nightly%2F%25/complete", complete)
		if replay.text() != done.text() || replay.header.Get("Idempotent-Replayed") != "true" || done.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("again %v %s", replay.header, replay.body)
		}
		if got := k.ask(t, "GET", bodyAt("new/1", "items"), ""); got.text() != "one" {
			t.Errorf("published %d %s", got.status, got.body)
		}
		k.ask(t, "GET", "/batches/nightly%2F%25", "").into(t, &batch)
		if !batch.Completed || batch.CompletedAt == nil || batch.Items[0].State != "released" {
			t.Errorf("left is %+v", batch)
		}
		var stored holdfast.StoredReceipt
		k.ask(t, "GET", "/receipts/done", "").into(t, &stored)
		if diff := cmp.Diff(&completion, stored.Completion); diff != "" || stored.Publication != nil {
			t.Errorf("stored (-want +got)\n%s", diff)
		}
	})
}

func TestBatch_APublicationUnderALostClaimIsRefused(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	var batch holdfast.Batch
	k.ask(t, "POST", "/batches", `{"batch_id":"b","owner":"w","items":["a"]}`).into(t, &batch)
	under := func(operation string, generation int64) string {
		return fmt.Sprintf(`{"operation_id":"%s","sections":{"items":{"body":""}},"batch":{"batch_id":"b","generation":%d}}`, operation, generation)
	}
	generation := *batch.Items[0].Generation
	k.ask(t, "PUT", at("a"), under("o1", generation+1), "If-None-Match: *").expectProblem(t, http.StatusConflict, "claim_lost")
	if made := k.ask(t, "PUT", at("a"), under("o2", generation), "If-None-Match: *"); made.status != http.StatusOK {
		t.Errorf("%d %s", made.status, made.body)
	}
}
