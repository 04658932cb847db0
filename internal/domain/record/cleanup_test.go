package record

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// clean does a task in the number of a collection, page by page, to the end of a
// pass, and gives how much went.
func (k *keeper) clean(t testing.TB, w *Service, task CleanupTask, collection string, limit int) (removed int) {
	t.Helper()
	for {
		step, err := w.Cleanup(t.Context(), k.databaseOf(collection), task, numberOf(collection), limit)
		if err != nil {
			t.Errorf("clean %s: %v", task, err)
			return removed
		}
		removed += step.Recovered
		if step.Done || step.Busy {
			return removed
		}
	}
}

// temporaries are what the cleanup may remove, of the tenant.
func (k *keeper) temporaries(t testing.TB, collection string) []string {
	t.Helper()
	rows, _ := k.adminOf(collection).Query(t.Context(), `
SELECT 'receipt ' || operation_id FROM receipts WHERE tenant_id = $1
UNION ALL SELECT 'batch ' || batch_id FROM batches WHERE tenant_id = $1
UNION ALL SELECT 'item ' || item_key || ' of ' || batch_id FROM batch_items WHERE tenant_id = $1
UNION ALL SELECT 'claim ' || item_key || ' by ' || batch_id FROM item_claims WHERE tenant_id = $1
ORDER BY 1`, k.scope.Tenant)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// age moves everything of the tenant that has a time back.
func (k *keeper) age(t testing.TB, by time.Duration) {
	t.Helper()
	for _, sql := range []string{
		`UPDATE receipts SET created_at = created_at - $2::interval WHERE tenant_id = $1`,
		`UPDATE batches SET touched_at = touched_at - $2::interval WHERE tenant_id = $1`,
		`UPDATE batch_items SET expires_at = expires_at - $2::interval WHERE tenant_id = $1`,
		`UPDATE item_claims SET expires_at = expires_at - $2::interval WHERE tenant_id = $1`,
	} {
		k.everywhere(t, sql, k.scope.Tenant, by)
	}
}

// temporary leaves one of everything that has a time: a receipt, a batch that is
// completed, one that is not.
func (k *keeper) temporary(t testing.TB, c, name string) {
	t.Helper()
	k.publish(t, c, Publication{Key: "item-" + name, OperationID: name, Bodies: map[string][]byte{"items": []byte("x")}, Expect: Expectation{Absent: true}})
	for _, batch := range []string{"open-", "done-"} {
		_, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: batch + name, Owner: "w", Items: []string{batch + name}, Term: MinBatchTerm})
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := k.Batch(t.Context(), k.scope, c, "done-"+name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.Complete(t.Context(), k.scope, c, nil, b.ID, CompleteBatch{OperationID: "complete-" + name, Items: []Publication{{
		Key: b.Items[0].Key, OperationID: "in-" + name, Bodies: map[string][]byte{"items": []byte("y")}, Expect: Expectation{Absent: true},
		Claim: &Claim{Generation: b.Items[0].Generation},
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

// Nothing goes a minute before its time, by the clock of the database, and a minute
// behind it all goes that is so old, and nothing else. What was published stays.
func TestCleanup_WhatHasHadItsTimeGoesAndNothingElse(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, w := k.collection(t, "orders"), k.upkeep(t, Options{})
	k.temporary(t, c, "old")
	all := k.temporaries(t, c)
	if len(all) != 8 { // 3 receipts, 2 batches with an item each, 1 claim
		t.Fatalf("there are %q", all)
	}
	generation := k.claimGeneration(t, c)
	k.age(t, ReceiptLife-time.Minute)
	for _, task := range CleanupTasks() {
		if n := k.clean(t, w, task, c, 1); n != 0 {
			t.Errorf("%d %s went before their time", n, task)
		}
	}
	if diff := cmp.Diff(all, k.temporaries(t, c)); diff != "" {
		t.Errorf("before their time (-want +got):\n%s", diff)
	}
	k.age(t, time.Minute+MinBatchTerm+time.Second)
	k.temporary(t, c, "young")
	young := slices.DeleteFunc(k.temporaries(t, c), func(what string) bool { return slices.Contains(all, what) })
	for task, want := range map[CleanupTask]int{CleanReceipts: 3, CleanBatches: 2, CleanClaims: 1} {
		if n := k.clean(t, w, task, c, 1); n != want {
			t.Errorf("%d %s went, want %d", n, task, want)
		}
		if n := k.clean(t, w, task, c, 10); n != 0 {
			t.Errorf("%d %s went the second time", n, task)
		}
	}
	if diff := cmp.Diff(young, k.temporaries(t, c)); diff != "" {
		t.Errorf("when their time has come (-want +got):\n%s", diff)
	}
	if got := k.body(t, c, "item-old", "items") + k.body(t, c, "done-old", "items"); got != "xy" {
		t.Errorf("what was published is %q", got)
	}
	_, err := k.StoredReceipt(t.Context(), k.scope, c, "old")
	expectCode(t, err, domain.KindNotFound, "receipt_not_found")
	_, err = k.Batch(t.Context(), k.scope, c, "open-old")
	expectCode(t, err, domain.KindNotFound, "batch_not_found")

	// The generations of claims go on where they were.
	b, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "open-old", Owner: "w", Items: []string{"open-old"}})
	if err != nil || b.Items[0].Generation <= generation {
		t.Errorf("claimed again as %+v, %v; generations were at %d", b, err, generation)
	}
}

func (k *keeper) claimGeneration(t testing.TB, c string) (generation int64) {
	t.Helper()
	err := k.adminOf(c).QueryRow(t.Context(), `SELECT claim_generation FROM collections WHERE tenant_id = $1 AND collection = $2`, k.scope.Tenant, c).Scan(&generation)
	if err != nil {
		t.Fatal(err)
	}
	return generation
}

// The clock is the database's: rows that its clock calls old go, whatever the
// process's says. What a page finds and is renewed before it is deleted stays.
func TestCleanup_WhatIsRenewedMeanwhileStays(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, w := k.collection(t, "orders"), k.upkeep(t, Options{})
	k.temporary(t, c, "old")
	k.age(t, ReceiptLife+time.Hour)
	for _, task := range []CleanupTask{CleanBatches, CleanClaims} {
		work, _ := task.cleanup()
		db := w.router.Named(k.databaseOf(c))
		p, err := nextCleanupPage(t.Context(), db, task, work, numberOf(c), 10)
		if err != nil || len(p.found) == 0 {
			t.Fatalf("found %+v, %v", p, err)
		}
		if _, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "open-old", Owner: "w", Items: []string{"open-old"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.removeDue(t.Context(), numberOf(c), work, p.due, p.found); err != nil {
			t.Fatal(err)
		}
		b, err := k.Batch(t.Context(), k.scope, c, "open-old")
		if err != nil || len(b.Items) != 1 || b.Items[0].State != ItemLeased {
			t.Errorf("behind the cleanup of %s the batch is %+v, %v", task, b, err)
		}
		k.age(t, ReceiptLife+time.Hour)
	}
}

// Whoever decided on a batch before it was cleaned up decides again: the collection
// has another token.
func TestCleanup_DrawsATokenForWhatDecisionsRestOn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, w := k.collection(t, "orders"), k.upkeep(t, Options{})
	k.temporary(t, c, "old")
	k.age(t, ReceiptLife+time.Hour)
	token := func() (token domain.Token) {
		if err := k.adminOf(c).QueryRow(t.Context(), `SELECT token FROM collections WHERE tenant_id = $1`, k.scope.Tenant).Scan(&token); err != nil {
			t.Fatal(err)
		}
		return token
	}
	for task, drawn := range map[CleanupTask]bool{CleanReceipts: false, CleanBatches: true, CleanClaims: true} {
		before := token()
		if n := k.clean(t, w, task, c, 10); n == 0 {
			t.Errorf("no %s went", task)
		}
		if (token() != before) != drawn {
			t.Errorf("behind the cleanup of %s the token is new: %v", task, !drawn)
		}
	}
}

// A tenant that is suspended keeps what it has, and stands in nobody's way.
func TestCleanup_ATenantThatIsSuspendedStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	other := *k
	other.scope.Tenant = domain.RandomID[domain.TenantKind]()
	other.begin(t, FormatSQL)
	w := k.upkeep(t, Options{})
	for _, each := range []*keeper{k, &other} { // the suspended tenant's is due first
		each.collection(t, "orders")
		each.temporary(t, "orders", "old")
		each.age(t, ReceiptLife+time.Hour)
	}
	before := k.temporaries(t, "orders")
	k.gate(t, "suspended")
	for _, task := range CleanupTasks() {
		k.clean(t, w, task, "orders", 1)
	}
	if left := other.temporaries(t, "orders"); len(left) != 0 {
		t.Errorf("left of the other tenant: %q", left)
	}
	if diff := cmp.Diff(before, k.temporaries(t, "orders")); diff != "" {
		t.Errorf("the suspended tenant's (-want +got):\n%s", diff)
	}
	k.gate(t, "open")
	for _, task := range CleanupTasks() {
		k.clean(t, w, task, "orders", 1)
	}
	if left := k.temporaries(t, "orders"); len(left) != 0 {
		t.Errorf("left of the tenant that was suspended: %q", left)
	}
}

// Several workers at once remove everything once, and count it once.
func TestCleanup_ByManyWorkersAtOnce(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	for i := range 10 {
		k.temporary(t, c, fmt.Sprint(i))
	}
	k.age(t, ReceiptLife+time.Hour)
	removed := make([]int, 4)
	for len(k.temporaries(t, c)) > 0 {
		var workers sync.WaitGroup
		for i := range removed {
			w := k.upkeep(t, Options{})
			workers.Go(func() {
				for _, task := range CleanupTasks() {
					removed[i] += k.clean(t, w, task, c, 3)
				}
			})
		}
		workers.Wait()
	}
	total := 0
	for _, n := range removed {
		total += n
	}
	if total != 60 { // of each of the ten 3 receipts, 2 batches, 1 claim
		t.Errorf("%d were counted: %v", total, removed)
	}
	progress, err := k.upkeep(t, Options{}).SweepProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	recovered := int64(0)
	for _, p := range progress {
		if recovered += p.Recovered; p.Database != k.databaseOf(c) || p.Family != FamilyCollection || p.Numbers != 1 || p.OldestPass == nil {
			t.Errorf("the progress is %+v", p)
		}
	}
	if recovered != 60 {
		t.Errorf("the progress tells of %d", recovered)
	}
}

func TestCleanup_IsTheWorkersAlone(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for _, task := range CleanupTasks() {
		if _, err := k.Cleanup(t.Context(), "data1", task, 0, 10); err == nil {
			t.Errorf("the API's role may clean up %s", task)
		}
	}
	w := k.upkeep(t, Options{})
	if _, err := w.Cleanup(t.Context(), "data1", "everything", 0, 10); err == nil {
		t.Error("there is no such task, and it was done")
	}
	if _, err := w.Cleanup(t.Context(), "elsewhere", CleanReceipts, 0, 10); err == nil {
		t.Error("there is no such database, and it was cleaned up")
	}
}
