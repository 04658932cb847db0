package record

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// follower reads an export page by page, and keeps what it saw.
type follower struct {
	*keeper
	collection string
	section    string
	limit      int
	after      int64
	last       map[string]Exported // by key and section, what was seen last of each
	seen       map[int64]string    // by sequence
}

func (k *keeper) follower(collection, section string, limit int) *follower {
	return &follower{k, collection, section, limit, 0, map[string]Exported{}, map[int64]string{}}
}

// page reads the next page, and tells whether there is more.
func (f *follower) page(t *testing.T) (more bool) {
	page, err := f.Export(t.Context(), f.scope, f.collection, ExportRequest{Section: f.section, After: f.after, Limit: f.limit})
	if err != nil {
		t.Error(err)
		return false
	}
	defer page.Close()
	if page.More && len(page.Records) == 0 {
		t.Errorf("an empty page behind %d, and more", f.after)
	}
	before := f.after
	for _, e := range page.Records {
		name := e.Key + " " + e.Name
		switch {
		case e.Sequence <= before:
			t.Errorf("behind %d comes %d", before, e.Sequence)
		case f.seen[e.Sequence] != "":
			t.Errorf("%d comes twice", e.Sequence)
		case f.section != "" && e.Name != f.section:
			t.Errorf("asked for %s, got %s", f.section, e.Name)
		}
		before, f.seen[e.Sequence], f.last[name] = e.Sequence, name, e
	}
	if page.Next < before || page.More && page.Next != before {
		t.Errorf("a page up to %d says to go on from %d, more %v", before, page.Next, page.More)
	}
	f.after = page.Next
	return page.More
}

// R22: followers read by small pages while two processes publish as hard as they
// can. Whoever sees a sequence has seen all that was committed below it.
func TestExport_WhilePublishingHard_MissesNothing(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		const records, each = 12, 150
		c := k.collection(t, "orders")
		var publishing, following sync.WaitGroup
		done := make(chan struct{})
		var mu sync.Mutex
		committed := map[int64]string{} // by sequence: what a receipt says
		for n, process := range []*keeper{k, k.process(t, Options{})} {
			for p := range 3 {
				publishing.Go(func() {
					dice := rand.New(rand.NewPCG(uint64(n), uint64(p)))
					for i := range each {
						r := drawHard(dice, fmt.Sprintf("%d/%d/%d", n, p, i), fmt.Sprint("key-", dice.IntN(records)))
						receipt, err := process.Publish(t.Context(), k.scope, c, nil, r)
						if err != nil {
							if kind := domain.KindOf(err); kind != domain.KindConflict {
								t.Errorf("publish: %v", err)
							}
							continue
						}
						mu.Lock()
						for _, change := range receipt.Changes {
							committed[change.Sequence] = receipt.Key + " " + change.Section
						}
						mu.Unlock()
					}
				})
			}
		}
		var followers []*follower
		for i, section := range []string{"", "items", "closed", "plans", ""} {
			f := k.follower(c, section, 1+2*i)
			followers = append(followers, f)
			following.Go(func() {
				for {
					if f.page(t) {
						continue
					}
					select {
					case <-done:
						for f.page(t) {
						}
						return
					default:
					}
				}
			})
		}
		publishing.Wait()
		close(done)
		following.Wait()
		if len(committed) < records*10 {
			t.Fatalf("only %d changes were committed", len(committed))
		}
		for sequence := range int64(len(committed)) {
			if committed[sequence+1] == "" {
				t.Errorf("of %d changes none has the sequence %d", len(committed), sequence+1)
			}
		}
		for _, f := range followers {
			f.expectFollowed(t, committed)
		}
	})
}

// expectFollowed holds a follower to what was committed: it has seen the last change
// of each section, and no other than was made.
func (f *follower) expectFollowed(t *testing.T, committed map[int64]string) {
	t.Helper()
	fresh := f.keeper.follower(f.collection, f.section, MaxExported)
	for fresh.page(t) {
	}
	if diff := cmp.Diff(fresh.last, f.last, cmp.AllowUnexported(Exported{}, Section{}, place{}),
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Revision" }, cmp.Ignore())); diff != "" {
		t.Errorf("a follower of %q ends with other than the export has (-has +followed)\n%.2000s", f.section, diff)
	}
	for sequence, name := range f.seen {
		if committed[sequence] != name {
			t.Errorf("%d was seen as %s, and is %s", sequence, name, committed[sequence])
		}
	}
}

// drawHard gives a publication that is made mostly, whatever else is under way.
func drawHard(dice *rand.Rand, name, key string) Publication {
	p := Publication{Key: key, OperationID: "operation " + name, Expect: Expectation{Fence: &Fence{"fence " + name, 1}}, Bodies: map[string][]byte{}}
	switch dice.IntN(6) {
	case 0:
		p.Bodies["closed"] = []byte(name)
	case 1:
		p.Bodies["items"] = []byte(name)
		p.Tombstones = []string{"plans"}
	case 2:
		p.Bodies["items"], p.Bodies["plans"], p.Bodies["decision-packets"] = []byte(name), []byte(name), []byte(name)
	default:
		p.Bodies["items"] = []byte(name)
	}
	return p
}

// A page that is read while a publication holds the collection, with its sequences
// taken and not committed, doesn't go past them.
func TestExport_DoesNotPassWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "1"))
	slow := k.networked(t)
	trap := slow.network.HoldBefore(t, commitMove)
	made := make(chan error)
	publish := func(k *keeper, key string) {
		p := items(key, "x")
		p.OperationID = k.operation()
		_, err := k.Publish(context.WithoutCancel(t.Context()), k.scope, c, nil, p)
		made <- err
	}
	go publish(slow.keeper, "b")
	<-trap.Met()
	go publish(k, "c") // waits behind it
	f := k.follower(c, "", 10)
	for range 3 {
		if f.page(t); f.after != 1 {
			t.Errorf("read up to %d", f.after)
		}
	}
	trap.Release()
	for range 2 {
		if err := <-made; err != nil {
			t.Error(err)
		}
	}
	f.page(t)
	if diff := cmp.Diff(map[int64]string{1: "a items", 2: "b items", 3: "c items"}, f.seen); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Pages end where their bodies do, whatever the bound of a body: one that is larger
// than a page comes alone, and what follows comes behind it.
func TestExport_PagesAreBounded(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k = k.process(t, Options{Limits: Limits{Body: 3 << 20, Record: 8 << 20}})
		c := k.collection(t, "orders")
		sizes := []int{3 << 20, 3 << 20, 1, 2<<20 - 1, 1, 1 << 20, 1 << 20, 0, 3 << 20, 0}
		for i, size := range sizes {
			k.publish(t, c, items(fmt.Sprint("key-", i), string(make([]byte, size))))
		}
		var pages [][]int
		for after, more := int64(0), true; more; {
			page, err := k.Export(t.Context(), k.scope, c, ExportRequest{After: after, Bodies: true})
			if err != nil {
				t.Fatal(err)
			}
			var lengths []int
			for _, e := range page.Records {
				lengths = append(lengths, len(e.Body))
			}
			pages = append(pages, lengths)
			after, more = page.Next, page.More
			page.Close()
		}
		want := [][]int{{3 << 20}, {3 << 20}, {1, 2<<20 - 1}, {1, 1 << 20}, {1 << 20, 0}, {3 << 20}, {0}}
		if diff := cmp.Diff(want, pages); diff != "" {
			t.Errorf("pages of bytes (-want +got)\n%s", diff)
		}
		// Without bodies only their number counts.
		if page, err := k.Export(t.Context(), k.scope, c, ExportRequest{}); err != nil || len(page.Records) != len(sizes) || page.More {
			t.Errorf("%+v, %v", page, err)
		}
	})
}
