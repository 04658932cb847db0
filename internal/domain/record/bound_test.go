package record

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// as is another principal of the tenant, at the same process.
func (k *keeper) as(name string) *keeper {
	other := *k
	other.scope.Principal = domain.DeriveID[domain.PrincipalKind]([]byte("principals"), name)
	other.scope.Name = name
	return &other
}

// bound makes a world, and a collection that is bound to it, with a record.
func (k *keeper) bound(t testing.TB, world string) (collection string) {
	t.Helper()
	if _, err := k.leases.CreateWorld(t.Context(), k.scope, world, lease.Policy{}); err != nil {
		t.Fatal(err)
	}
	made, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: world + ":things", BindWorld: true})
	if err != nil || made.World != world {
		t.Fatalf("%+v, %v", made, err)
	}
	k.publish(t, made.Name, items("a", "hosted"))
	return made.Name
}

func (k *keeper) acquire(t testing.TB, world string) lease.Grant {
	t.Helper()
	grant, err := k.leases.Acquire(t.Context(), k.scope, world, lease.Acquire{RequestID: k.operation()})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// hold acquires a lease of the default term and activates it.
func (k *keeper) hold(t testing.TB, world string) *lease.Authority {
	t.Helper()
	grant := k.acquire(t, world)
	a := lease.Authority{Epoch: grant.Epoch, Secret: grant.Secret}
	page, err := k.leases.Entries(t.Context(), k.scope, world, grant.HandoffPosition-1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.leases.Activate(t.Context(), k.scope, world, a, grant.HandoffPosition, page.Entries[0].Hash); err != nil {
		t.Fatal(err)
	}
	return &a
}

func (k *keeper) handOff(t testing.TB, world string, a *lease.Authority) {
	t.Helper()
	if _, err := k.leases.HandOff(t.Context(), k.scope, world, *a, lease.ToCoordinator); err != nil {
		t.Fatal(err)
	}
}

// changes are the calls that a lease gives the right to, by the name of Service's
// method. Each is made of a record and a batch that are as the keeper's leave them.
var changes = map[string]func(t testing.TB, k *keeper, c string, a *lease.Authority) error{
	"Publish": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		_, err := k.Publish(t.Context(), k.scope, c, a, k.onto("a"))
		return err
	},
	"PublishEach": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		made, err := k.PublishEach(t.Context(), k.scope, c, a, []Publication{k.onto("a")})
		if err != nil {
			return err
		}
		return made[0].Err
	},
	"Delete": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		r, err := k.Record(t.Context(), k.scope, c, "a")
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Delete(t.Context(), k.scope, c, a, "a", r.Revision, k.operation())
		return err
	},
	"Claim": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		_, err := k.Claim(t.Context(), k.scope, c, a, ClaimBatch{ID: k.operation(), Owner: "w", Items: []string{k.operation()}})
		return err
	},
	"Heartbeat": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		beaten, err := k.Heartbeat(t.Context(), k.scope, c, a, "open", []ClaimedItem{{"b", 1}}, MaxBatchTerm)
		if err == nil && beaten[0].State != ItemLeased {
			t.Errorf("beaten as %+v", beaten)
		}
		return err
	},
	"Complete": func(t testing.TB, k *keeper, c string, a *lease.Authority) error {
		p := k.onto("b")
		p.Claim = &Claim{Generation: 1}
		done, err := k.Complete(t.Context(), k.scope, c, a, "open", CompleteBatch{OperationID: k.operation(), Items: []Publication{p}})
		if err == nil && done.Items[0].Outcome != ItemPublished {
			t.Errorf("completed as %+v", done)
		}
		return err
	},
}

// onto is a publication that depends on nothing but the right to make it.
func (k *keeper) onto(key string) Publication {
	name := k.operation()
	return Publication{Key: key, OperationID: name, Bodies: map[string][]byte{"items": []byte(name)}, Expect: Expectation{Fence: &Fence{name, 1}}}
}

// A call that takes a lease can't be forgotten above.
func TestEveryCallThatTakesALease_IsTested(t *testing.T) {
	t.Parallel()
	var takes, tested []string
	service := reflect.TypeFor[*Service]()
	for i := range service.NumMethod() {
		method := service.Method(i)
		for k := range method.Type.NumIn() {
			if method.Type.In(k) == reflect.TypeFor[*lease.Authority]() {
				takes = append(takes, method.Name)
			}
		}
	}
	for name := range changes {
		tested = append(tested, name)
	}
	slices.Sort(tested)
	if diff := cmp.Diff(takes, tested); diff != "" {
		t.Errorf("calls that take a lease (-there are +tested):\n%s", diff)
	}
}

// L12 and L21, for every change that there is of a collection that is bound to a
// world: whatever isn't the lease in force is refused and changes nothing, and the
// holder's own goes through. Who is refused uploads nothing before.
func TestChangesOfABoundCollection_NeedTheLeaseInForce(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]int16{"sql": FormatSQL, "store": FormatStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectTheLeaseIsNeeded(t, newClocked(t, format))
		})
	}
}

func expectTheLeaseIsNeeded(t *testing.T, k *keeper) {
	a, b := k.as("a"), k.as("b")
	expectRefused := func(t *testing.T, c, code string, change func() error) {
		t.Helper()
		uploads := k.faults.Count("PUT")
		k.expectUnchanged(t, c, func() { expectCode(t, change(), domain.KindConflict, code) })
		if n := k.faults.Count("PUT") - uploads; n != 0 {
			t.Errorf("%d uploads by who has no right to them", n)
		}
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			world := strings.ToLower(name)
			c := k.bound(t, world)
			old := a.hold(t, world)
			a.handOff(t, world, old)
			grant := b.acquire(t, world)
			expectRefused(t, c, "lease_not_activated", func() error {
				return change(t, b, c, &lease.Authority{Epoch: grant.Epoch, Secret: grant.Secret})
			})
			b.handOff(t, world, &lease.Authority{Epoch: grant.Epoch, Secret: grant.Secret})
			held := b.hold(t, world)
			if _, err := b.Claim(t.Context(), b.scope, c, held, ClaimBatch{ID: "open", Owner: "w", Items: []string{"b"}, Term: MaxBatchTerm}); err != nil {
				t.Fatal(err)
			}
			for wrong, presented := range map[string]struct {
				by *keeper
				a  *lease.Authority
			}{
				"no lease":                                  {k, nil},
				"the holder's, and no lease":                {b, nil},
				"the lease of before":                       {a, old},
				"the lease of before, of the holder":        {b, old},
				"the epoch, without the secret":             {b, &lease.Authority{Epoch: held.Epoch}},
				"the epoch, with the secret of before":      {b, &lease.Authority{Epoch: held.Epoch, Secret: old.Secret}},
				"the lease in force, of another":            {a, held},
				"the secret, with the epoch that is next":   {b, &lease.Authority{Epoch: held.Epoch + 1, Secret: held.Secret}},
				"the secret, with the epoch of before":      {b, &lease.Authority{Epoch: held.Epoch - 1, Secret: held.Secret}},
				"the secret, with the epoch of long before": {b, &lease.Authority{Epoch: old.Epoch, Secret: held.Secret}},
			} {
				t.Run(wrong, func(t *testing.T) {
					expectRefused(t, c, "fenced", func() error { return change(t, presented.by, c, presented.a) })
				})
			}
			before := k.stateOf(t, c)
			if err := change(t, b, c, held); err != nil {
				t.Errorf("the holder's own: %v", err)
			}
			if name != "Heartbeat" && before.equal(k.stateOf(t, c)) {
				t.Error("the holder's own changed nothing")
			}
		})
	}
}

// A lease whose time is over has no power, also when nobody has ended it yet; and
// then the coordinator holds, and clients write through it.
func TestChangesOfABoundCollection_BehindTheEndOfALease(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	a := k.as("a")
	for name, change := range changes {
		world := strings.ToLower(name)
		for _, first := range []string{"holder", "client"} {
			c := k.bound(t, world+"-"+first)
			held := a.hold(t, world+"-"+first)
			by := map[string]*keeper{"holder": a, "client": k}[first]
			k.advance(t, lease.DefaultTerm)
			if first == "holder" {
				k.expectUnchanged(t, c, func() {
					expectCode(t, change(t, a, c, held), domain.KindConflict, "lease_expired")
				})
			}
			if _, err := by.Claim(t.Context(), by.scope, c, nil, ClaimBatch{ID: "open", Owner: "w", Items: []string{"b"}, Term: MaxBatchTerm}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := change(t, by, c, nil); err != nil {
				t.Errorf("%s by a %s, hosted: %v", name, first, err)
			}
			k.expectUnchanged(t, c, func() {
				expectCode(t, change(t, a, c, held), domain.KindConflict, "lease_expired")
			})
		}
	}
}

// Every kind of change may be the first to meet a lease that has ended.
func TestChangesOfABoundCollection_MayBeTheFirstToMeetALapse(t *testing.T) {
	t.Parallel()
	k := newClocked(t, FormatSQL)
	a := k.as("a")
	for name, change := range changes {
		world := strings.ToLower(name)
		c := k.bound(t, world)
		if _, err := k.Claim(t.Context(), k.scope, c, nil, ClaimBatch{ID: "open", Owner: "w", Items: []string{"b"}, Term: MaxBatchTerm}); err != nil {
			t.Fatal(err)
		}
		a.hold(t, world)
		k.advance(t, lease.DefaultTerm)
		if err := change(t, k, c, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nobody writes any more to what is bound to a world that is retired.
func TestChangesOfABoundCollection_EndWithTheWorld(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.bound(t, "arena")
	if err := k.leases.RetireWorld(t.Context(), k.scope, "arena"); err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		k.expectUnchanged(t, c, func() {
			if err := change(t, k, c, nil); domain.CodeOf(err) != "world_not_found" {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	if got := k.body(t, c, "a", "items"); got != "hosted" {
		t.Errorf("it reads %q", got)
	}
	_, _, err := k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "arena:more", BindWorld: true})
	expectCode(t, err, domain.KindConflict, "world_not_found")
	_, _, err = k.CreateCollection(t.Context(), k.scope, NewCollection{Name: "nowhere", BindWorld: true})
	expectCode(t, err, domain.KindConflict, "world_not_found")
}
