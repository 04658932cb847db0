package record

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// death is one errand in one collection, and what became of it.
type death struct {
	errand
	k             *keeper
	collection    string
	do            func(ctx context.Context, s *Service) (answers, error)
	before, after state
	was, bodies   []Digest // that something refers to: before, and before or after
	told          answers  // by the process that died
}

func (e errand) begin(t *testing.T, k *keeper, collection string) *death {
	t.Helper()
	c := k.collection(t, collection)
	d := &death{errand: e, k: k, collection: c, do: e.prepare(t, k, c)}
	d.before, d.was = k.stateOf(t, c), k.descriptors(t, c)
	return d
}

// end takes in what there is when the errand is done.
func (d *death) end(t *testing.T) {
	t.Helper()
	d.after, d.bodies = d.k.stateOf(t, d.collection), union(d.was, d.k.descriptors(t, d.collection))
}

// die lets a process go about the errand for as long as it lives.
func (d *death) die(t *testing.T, l *life) {
	t.Helper()
	dying, ctx := d.k.spawn(t, l)
	told, err := d.do(ctx, dying.Service)
	// Of decisions that are made at once, some share an exchange or don't.
	if d.single && (err == nil || len(l.met()) < l.last) {
		t.Errorf("it went through with %d exchanges, %v, and should have died in the %dth", len(l.met()), err, l.last)
	}
	d.told = told
	d.k.awaitSilence(t)
}

// expectBeforeOrAfter holds what the process has left to what was before the
// errand, and to what is there when it is done: each decision is made wholly, with
// its receipt, or not at all.
func (d *death) expectBeforeOrAfter(t *testing.T) {
	t.Helper()
	left := d.k.stateOf(t, d.collection)
	d.k.expectSound(t, d.collection)
	if d.single {
		if !left.equal(d.before) && !left.equal(d.after) {
			t.Errorf("it leaves neither what was nor what should be:\n%s\nnor\n%s", left.differs(d.before), left.differs(d.after))
		}
		return
	}
	for key, of := range left.byItem() {
		if was, is := d.before.byItem()[key], d.after.byItem()[key]; of != was && of != is {
			t.Errorf("of %s it leaves\n%s\nneither\n%s\nnor\n%s", key, of, was, is)
		}
	}
}

// expectOwnObjects names the objects that are none of the errand's, and counts
// those to which nothing has ever referred.
func (d *death) expectOwnObjects(t *testing.T) (strays int) {
	t.Helper()
	used := union(d.was, d.k.descriptors(t, d.collection))
	for _, object := range d.k.objectsOf(t, d.collection) {
		if !slices.Contains(d.bodies, object) {
			t.Errorf("it leaves the object %s, which is nobody's", object)
		}
		if !slices.Contains(used, object) {
			strays++
		}
	}
	return strays
}

// inherit has a process that lives do the errand, as one would who got no answer,
// and again.
func (d *death) inherit(t *testing.T) {
	t.Helper()
	left := d.k.stateOf(t, d.collection)
	got, err := d.do(t.Context(), d.k.Service)
	if err != nil {
		t.Fatalf("asked again: %v", err)
	}
	again, err := d.do(t.Context(), d.k.Service)
	if err != nil {
		t.Fatalf("asked a third time: %v", err)
	}
	for operation, receipt := range got {
		if done := left["receipt "+operation] != ""; receipt.Replayed != done {
			t.Errorf("%s had been done: %v, and asking again gives %+v", operation, done, receipt)
		}
		expectSame(t, receipt, again[operation])
		if told, was := d.told[operation]; was {
			expectSame(t, told, receipt)
		}
	}
	if is := d.k.stateOf(t, d.collection); !is.equal(d.after) {
		t.Errorf("asked again, it comes to something else than asked once:\n%s", is.differs(d.after))
	}
	d.k.expectSound(t, d.collection)
	if d.k.format != FormatStore {
		return
	}
	if is := union(d.k.objectsOf(t, d.collection)); !slices.Equal(is, d.bodies) {
		t.Errorf("there are the objects %v in the end, and should be %v", is, d.bodies)
	}
}

// expectSame compares two copies of a receipt.
func expectSame(t *testing.T, told, again Receipt) {
	t.Helper()
	if again.Replayed = told.Replayed; flat(told) != flat(again) {
		t.Errorf("a receipt was given as %s, and then as %s", flat(told), flat(again))
	}
}

// flat is a receipt in words.
func flat(r Receipt) string {
	text := fmt.Sprint(r.OperationID, " ", r.Key, " ", r.Outcome, " ", r.Revision, " ", r.At.UTC())
	if r.Fence != nil {
		text += fmt.Sprint(" ", *r.Fence)
	}
	for _, c := range r.Changes {
		text += fmt.Sprint(" ", c.Section, " ", c.Live, " ", c.Digest, " ", c.Length, " ", c.Sequence)
	}
	return text
}
