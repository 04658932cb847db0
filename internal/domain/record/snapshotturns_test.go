package record

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A tenant with more snapshots than a page has its turn, and the others have theirs.
func TestSnapshotsDue_AreOneOfEachTenantHoweverManyOneHas(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	w := k.upkeep(t, Options{})
	database := k.databaseOf("orders")
	want := []DueSnapshot{k.asked(t, "orders")} // which has waited longest
	for i, more := 0, 6; more > 0; i++ {
		if name := fmt.Sprint("orders-", i); k.databaseOf(name) == database {
			k.asked(t, name)
			more--
		}
	}
	for range 3 {
		other := *k
		other.scope.Tenant = domain.RandomID[domain.TenantKind]()
		other.begin(t, FormatSQL)
		want = append(want, other.asked(t, "orders"))
	}
	for limit, want := range map[int][]DueSnapshot{1: want[:1], 2: want[:2], 4: want, 100: want} {
		due, err := w.SnapshotsDue(t.Context(), database, limit)
		if diff := cmp.Diff(want, due); err != nil || diff != "" {
			t.Errorf("of %d: %v (-want +got)\n%s", limit, err, diff)
		}
	}
}

// asked makes a collection, and asks for a snapshot of it.
func (k *keeper) asked(t *testing.T, name string) DueSnapshot {
	t.Helper()
	k.collection(t, name)
	c, err := k.Collection(t.Context(), k.scope, name)
	if err != nil {
		t.Fatal(err)
	}
	return DueSnapshot{k.scope.Tenant, numberOf(name), c.ID, k.request(t, name).ID}
}

// Whatever stops a step, the tenant's other snapshots have their turn, and the
// stopped one has its own again.
func TestSnapshot_OneWhoseStepFailsLetsTheOthersGoOn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	w := k.upkeep(t, Options{})
	stopped := k.asked(t, "orders")
	k.step(t, w) // the walk; now comes what needs the collection
	k.everywhere(t, `UPDATE snapshots SET collection = 'gone' WHERE snapshot_id = $1`, stopped.ID)
	if _, err := w.StepSnapshot(t.Context(), stopped); domain.CodeOf(err) != errNoCollection.Code {
		t.Fatalf("the step: %v", err)
	}
	if due := k.due(t, w); len(due) != 0 {
		t.Errorf("it is due at once: %v", due)
	}
	k.collection(t, "others")
	k.snapshot(t, w, "others")
	k.everywhere(t, `UPDATE snapshots SET collection = 'orders' WHERE snapshot_id = $1`, stopped.ID)
	k.ripen(t)
	k.complete(t, w, "orders", Snapshot{ID: stopped.ID})
}

// Other bytes in an object's place stay: nothing is tried again, and the reason is
// one that callers know.
func TestSnapshot_AnObjectThatIsAnotherFailsItAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(k *keeper) *Service // gives the worker that meets it
		want  SnapshotFailure
	}{
		"a body's": {func(k *keeper) *Service {
			bucket, object := k.bucket(t), k.object(t, "orders", "body")
			if err := bucket.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if _, err := bucket.Ensure(t.Context(), object, []byte("ydob"), DigestOf([]byte("ydob")), false); err != nil {
				t.Fatal(err)
			}
			return k.upkeep(t, Options{})
		}, SnapshotFailure{Code: "body_unavailable", Key: "a", Section: "items"}},
		"a part's": {func(k *keeper) *Service {
			spoilt := *k
			spoilt.faults = testkit.NewStoreFaults(t)
			spoilt.faults.When("a part", isPart("GET"), testkit.WrongBytes())
			return spoilt.upkeep(t, Options{})
		}, SnapshotFailure{Code: "body_unavailable"}},
	} {
		k := newKeeper(t, FormatStore)
		k.collection(t, "orders")
		k.publish(t, "orders", items("a", "body"))
		w := c.spoil(k)
		asked := k.request(t, "orders")
		sn := k.try(t, w, "orders", asked.ID)
		if diff := cmp.Diff(&c.want, sn.Failure); sn.State != SnapshotFailed || diff != "" {
			t.Errorf("%s: it is %s (-want +got)\n%s", name, sn.State, diff)
		}
	}
}
