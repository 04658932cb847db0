package record

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// agedObjects has what was stored a moment ago count.
var agedObjects = Options{ObjectAge: -time.Hour}

// count makes steps in the number of a collection until a pass has ended.
func (k *keeper) count(t testing.TB, w *Service, collection string) (removed int) {
	t.Helper()
	for {
		step, err := w.CountObjects(t.Context(), k.databaseOf(collection), numberOf(collection))
		if err != nil {
			t.Fatal(err)
		}
		if removed += step.Recovered; step.Done {
			return removed
		}
	}
}

// unreferenced is what the last counts of everybody come to.
func (k *keeper) unreferenced(t testing.TB, w *Service) (all Unreferenced) {
	t.Helper()
	for _, db := range k.router.Databases() {
		u, err := w.Unreferenced(t.Context(), db.Name)
		if err != nil {
			t.Fatal(err)
		}
		all.Objects += u.Objects
		all.Bytes += u.Bytes
	}
	return all
}

// A process dies between the upload of its bodies and the commit. What it leaves is
// counted when it is old enough, until something refers to it, and is never removed.
func TestUnreferenced_WhatACrashLeavesIsCounted(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c, w := k.collection(t, "orders"), k.upkeep(t, agedObjects)
	k.publish(t, c, Publication{Key: "one", Bodies: map[string][]byte{"items": []byte("kept"), "plans": []byte("kept too")}, Expect: Expectation{Absent: true}})
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{}) {
		t.Errorf("before the crash: %+v", u)
	}

	dying, die := context.WithCancel(t.Context())
	k.faults.When("the last GET", func(r *http.Request) bool { return r.Method == "GET" && dying.Err() == nil }, func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		die()
		return nil, errors.New("the process is dead")
	})
	lost := map[string][]byte{"items": []byte("12345")}
	if _, err := k.Publish(dying, k.scope, c, nil, Publication{Key: "two", OperationID: "two", Bodies: lost, Expect: Expectation{Absent: true}}); err == nil {
		t.Fatal("the dead have published")
	}
	k.count(t, k.upkeep(t, Options{}), c)
	if u := k.unreferenced(t, w); u != (Unreferenced{}) {
		t.Errorf("right after the crash, what may still be committed counts: %+v", u)
	}
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{1, 5}) {
		t.Errorf("when it is old: %+v", u)
	}
	before := k.objects(t, c)
	if k.count(t, w, c); len(before) != 3 || !cmp.Equal(before, k.objects(t, c)) {
		t.Errorf("the count has changed what is there: %q", before)
	}

	k.publish(t, c, Publication{Key: "two", OperationID: "two", Bodies: lost, Expect: Expectation{Absent: true}})
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{}) {
		t.Errorf("when the operation was made after all: %+v", u)
	}

	// A tombstone and a new body leave their objects, too.
	k.publish(t, c, Publication{Key: "one", Bodies: map[string][]byte{"closed": []byte("new")}, Expect: Expectation{Revision: 1}})
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{2, 12}) {
		t.Errorf("of sections that are no more: %+v", u)
	}
}

// A foreign object below the collection's prefix counts; neither tenant's objects
// count for the other, and a collection without objects costs no listing.
func TestUnreferenced_IsCountedByCollection(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	other := *k
	other.scope.Tenant = domain.RandomID[domain.TenantKind]()
	other.begin(t, FormatStore)
	w := k.upkeep(t, agedObjects)
	bucket := k.bucket(t)
	for _, each := range []*keeper{k, &other} {
		for _, name := range []string{"w:a", "w:b"} {
			each.collection(t, name)
			each.publish(t, name, Publication{Key: "one", Bodies: map[string][]byte{"items": []byte("the same")}, Expect: Expectation{Absent: true}})
		}
	}
	of, err := other.Collection(t.Context(), other.scope, "w:b")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"strange", "bodies/v1/sha256/strange", "snapshots/v1/strange", fmt.Sprintf("snapshots/v1/%036d/%036d/00000001-%064d.ndjson", 0, 0, 0)} {
		if _, err := bucket.Ensure(t.Context(), collectionPrefix(other.scope.Tenant, of.ID)+name, []byte(name), DigestOf([]byte(name)), false); err != nil {
			t.Fatal(err)
		}
	}
	k.begin(t, FormatSQL) // later ones of k keep their bodies in SQL
	k.collection(t, "w:c")
	lists := k.faults.Count("GET")
	k.count(t, w, "w:a")
	if n := k.faults.Count("GET") - lists; n != 4 {
		t.Errorf("%d listings, of 4 collections with objects", n)
	}
	rows, _ := k.adminOf("w:a").Query(t.Context(), `SELECT tenant_id = $1, unreferenced_objects FROM object_counts ORDER BY 1, 2`, k.scope.Tenant)
	type count struct {
		Mine    bool
		Objects int64
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[count])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]count{{false, 0}, {false, 4}, {true, 0}, {true, 0}}, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What workers that died or were overtaken have left of snapshots is removed; what
// belongs to one that is complete, or running, stays.
func TestUnreferenced_LeftoversOfSnapshotsGo(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c, l, w := k.collection(t, "orders"), &ledger{}, k.upkeep(t, Options{})
	k.fill(t, l, c, 6, 1<<20)
	done := k.snapshot(t, w, c)
	asked := k.request(t, c)
	k.step(t, w) // its first part
	bucket := k.bucket(t)
	of, err := k.Collection(t.Context(), k.scope, c)
	if err != nil {
		t.Fatal(err)
	}
	prefix := collectionPrefix(k.scope.Tenant, of.ID)
	complete, running := k.partsIn(t, c, done.ID), k.partsIn(t, c, asked.ID)
	stay := k.objects(t, c)
	plant := func(key string) string {
		key = prefix + key[:len(key)-len("0.ndjson")] + "f.ndjson" // of another digest
		if _, err := bucket.Ensure(t.Context(), key, []byte("left"), DigestOf([]byte("left")), false); err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(key, prefix)
	}
	dir := func(key string) string { return key[:strings.LastIndex(key, "/")] }
	gone := fmt.Sprintf("snapshots/v1/%s/%s/00000001-%064d.ndjson", domain.RandomID[domain.SnapshotKind](), domain.RandomID[domain.TokenKind](), 0)
	otherRun := fmt.Sprintf("snapshots/v1/%s/%s/00000001-%064d.ndjson", done.ID, domain.RandomID[domain.TokenKind](), 0)
	left := []string{
		plant(gone), plant(otherRun),
		plant(dir(complete[0]) + fmt.Sprintf("/00000001-%064d.ndjson", 0)),
		plant(dir(complete[0]) + fmt.Sprintf("/99999999-%064d.ndjson", 0)),
	}
	plant(dir(running[0]) + fmt.Sprintf("/00000002-%064d.ndjson", 0)) // may be another worker's that is about to commit
	if n := k.count(t, w, c); n != len(left) {
		t.Errorf("%d leftovers were removed, want %d", n, len(left))
	}
	now := k.objects(t, c)
	if len(now) != len(stay)+1 {
		t.Errorf("there are %q\nwant %q and one more", now, stay)
	}
	k.expectAt(t, l, c, done)
	k.expectAt(t, l, c, k.complete(t, w, c, asked))
	if n := k.count(t, w, c); n != 1 { // that the one that was running didn't come to use
		t.Errorf("%d leftovers were removed when all is done, want 1", n)
	}
	if u := k.unreferenced(t, w); u.Objects != 0 {
		t.Errorf("counted are %+v", u)
	}
}

// A worker is held up at its listing while another makes the same step. It finds the
// cursor moved, and leaves it.
func TestUnreferenced_OfTwoWorkersAtOneStepOneMakesIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c, w := k.collection(t, "orders"), k.upkeep(t, agedObjects)
	k.publish(t, c, Publication{Key: "one", Bodies: map[string][]byte{"items": []byte("x")}, Expect: Expectation{Absent: true}})
	slow := *k
	slow.faults = testkit.NewStoreFaults(t)
	slow.faults.On("GET", func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		k.count(t, w, c)
		return pass()
	})
	held := slow.upkeep(t, agedObjects)
	for range 2 { // to the collection, and its listing
		step, err := held.CountObjects(t.Context(), k.databaseOf(c), numberOf(c))
		if err != nil || step.Done {
			t.Fatalf("%+v, %v", step, err)
		}
		if step.Visited == 1 && !step.Busy {
			t.Error("the step that another has made was made again")
		}
	}
	var objects, passes int64
	err := k.adminOf(c).QueryRow(t.Context(), `SELECT visited, passes FROM object_sweeps WHERE number = $1`, int16(numberOf(c))).Scan(&objects, &passes)
	if err != nil || objects != 1 || passes != 1 {
		t.Errorf("%d objects were visited in %d passes, %v", objects, passes, err)
	}
}

// More objects than a page has, by several workers that make the same steps: each is
// counted once.
func TestUnreferenced_ManyWorkersCountOnce(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	of, err := k.Collection(t.Context(), k.scope, c)
	if err != nil {
		t.Fatal(err)
	}
	bucket := k.bucket(t)
	const objects = listedObjects + 200
	var puts sync.WaitGroup
	for n := range 8 {
		puts.Go(func() {
			for i := n; i < objects; i += 8 {
				body := fmt.Appendf(nil, "%07d", i)
				if _, err := bucket.Ensure(context.Background(), bodyKey(k.scope.Tenant, of.ID, DigestOf(body), 0), body, DigestOf(body), false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	puts.Wait()
	var workers sync.WaitGroup
	for range 3 {
		w := k.upkeep(t, agedObjects)
		workers.Go(func() { k.count(t, w, c) })
	}
	workers.Wait()
	w := k.upkeep(t, agedObjects)
	if u := k.unreferenced(t, w); u != (Unreferenced{objects, objects * 7}) {
		t.Errorf("counted are %+v, of %d", u, objects)
	}
	for _, db := range k.router.Databases() {
		due, err := w.ObjectsDue(t.Context(), db.Name)
		counted := len(db.Numbers)
		if db.Name == k.databaseOf(c) {
			counted-- // for a day
		}
		if err != nil || len(due) != counted {
			t.Errorf("%s: %d numbers are due, want %d, %v", db.Name, len(due), counted, err)
		}
	}
}

// What a collection has left in the store that has come back to SQL is counted too,
// also if nobody had counted there before, and stays.
func TestUnreferenced_WhatACollectionLeavesBehindIsCounted(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c, w := k.collection(t, "orders"), k.upkeep(t, agedObjects)
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"items": []byte("12345"), "plans": []byte("678")}, Expect: Expectation{Absent: true}})
	m := k.mover(t, c, Options{})
	m.over(t, FormatSQL, func() {})
	k.everywhere(t, `INSERT INTO migration_checkpoints SELECT c.tenant_id, c.number, c.collection_id, c.collection, c.token, 'rehydrate', sha256(''), 'b', c.token, false, 1,
		0, 0, '', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now(), now(), now(), now() FROM collections c`)
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{Objects: 2, Bytes: 8}) {
		t.Errorf("back in SQL: %+v", u)
	}
	if n := len(k.objects(t, c)); n != 2 {
		t.Errorf("%d objects are left", n)
	}
	m.over(t, FormatStore, func() {})
	k.count(t, w, c)
	if u := k.unreferenced(t, w); u != (Unreferenced{}) {
		t.Errorf("in the store again: %+v", u)
	}
	k.finds(t)
}
