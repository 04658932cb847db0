package record

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// readOn reads all through the storm: each body is one that somebody has published
// there, and what was acknowledged is there, and not in an older state.
func (s *storm) readOn(t *testing.T, name uint64) {
	rng := rand.New(rand.NewPCG(s.seed, name))
	for next := 0; s.await(next); next = s.progress() + 1 {
		for range 4 {
			c, key := s.collections[rng.IntN(len(s.collections))], fmt.Sprint("key/", rng.IntN(stormKeys))
			k := s.processes[rng.IntN(len(s.processes))].keeper
			if rng.IntN(2) == 0 {
				s.readRecord(t, k, c, key)
			} else {
				section := []string{"items", "closed", "decision-packets"}[rng.IntN(3)]
				s.readSection(t, k, c, key, section)
			}
		}
	}
}

func (s *storm) readRecord(t *testing.T, k *keeper, c, key string) {
	least := s.acknowledged(c, key)
	bodies, err := k.RecordWithBodies(t.Context(), k.scope, c, key)
	switch {
	case passes(err):
		return
	case domain.CodeOf(err) == "record_not_found" && least == 0:
		return
	case err != nil:
		t.Errorf("%s was acknowledged at revision %d, and reading it gives %v", key, least, err)
		return
	}
	defer bodies.Close()
	if bodies.Revision < least {
		t.Errorf("%s was acknowledged at revision %d, and then read at %d", key, least, bodies.Revision)
	}
	for _, section := range bodies.Sections {
		if section.Live {
			s.expectSent(t, c, key, section)
		}
	}
}

func (s *storm) readSection(t *testing.T, k *keeper, c, key, section string) {
	stands := s.stands(c, key, section)
	body, err := k.Body(t.Context(), k.scope, c, key, section)
	switch code := domain.CodeOf(err); {
	case passes(err) || code == "section_deleted":
		return
	case !stands && (code == "record_not_found" || code == "section_not_found"):
		return
	case err != nil:
		t.Errorf("%s of %s was acknowledged (%v), and reading it gives %v", section, key, stands, err)
		return
	}
	defer body.Close()
	s.expectSent(t, c, key, body.Section)
}

func (s *storm) expectSent(t *testing.T, c, key string, section Section) {
	if DigestOf(section.Body) != section.Digest || section.Length != int64(len(section.Body)) {
		t.Errorf("%s of %s came with a body that isn't its digest's", section.Name, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sent[spot{c, key, section.Name}][section.Digest] {
		t.Errorf("%s of %s came with a body that nobody has published there", section.Name, key)
	}
}

func (s *storm) acknowledged(c, key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[itemSpot{c, key}]
}

func (s *storm) stands(c, key, section string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing[spot{c, key, section}]
}

// stormFollower follows a collection's export.
type stormFollower struct {
	*storm
	collection string
	rng        *rand.Rand
	bodies     bool
	after      int64
	view       map[spot]Exported // without bodies
}

func (s *storm) newFollower(c string, name uint64, bodies bool) *stormFollower {
	return &stormFollower{storm: s, collection: c, rng: rand.New(rand.NewPCG(s.seed, name)), bodies: bodies, view: map[spot]Exported{}}
}

func (f *stormFollower) run(t *testing.T) {
	for next := 0; f.await(next); next = f.progress() + 3 {
		for more := true; more; {
			more = f.page(t, f.processes[f.rng.IntN(len(f.processes))].keeper)
		}
	}
}

// page reads one page and tells whether there is more. After a failure the next
// one begins at the same place.
func (f *stormFollower) page(t *testing.T, k *keeper) (more bool) {
	page, err := k.Export(t.Context(), k.scope, f.collection, ExportRequest{After: f.after, Limit: 1 + f.rng.IntN(12), Bodies: f.bodies})
	if err != nil {
		if !passes(err) {
			t.Errorf("the export of %s: %v", f.collection, err)
		}
		return false
	}
	defer page.Close()
	if page.More && len(page.Records) == 0 {
		t.Errorf("the export of %s has an empty page at %d, and more behind it", f.collection, f.after)
	}
	last := f.after
	for _, e := range page.Records {
		if e.Sequence <= last {
			t.Errorf("the export of %s gives %s of %s at %d behind %d", f.collection, e.Name, e.Key, e.Sequence, last)
		}
		last = e.Sequence
		if f.bodies && e.Live {
			f.expectSent(t, f.collection, e.Key, e.Section)
		}
		e.Body = nil
		f.view[spot{f.collection, e.Key, e.Name}] = e
	}
	if page.Next < last {
		t.Errorf("the export of %s goes on from %d behind %d", f.collection, page.Next, last)
	}
	f.after = page.Next
	return page.More
}

// expectAll holds what the follower has seen to what there is.
func (f *stormFollower) expectAll(t *testing.T) {
	t.Helper()
	for f.page(t, f.keeper) {
	}
	for after, more := "", true; more; {
		page, err := f.Records(t.Context(), f.scope, f.collection, Filter{}, after, 100)
		if err != nil {
			t.Fatal(err)
		}
		after, more = page.Last, page.More
		for _, r := range page.Records {
			for _, s := range r.Sections {
				at := spot{f.collection, r.Key, s.Name}
				if seen := f.view[at]; seen.Sequence != s.Sequence || seen.Digest != s.Digest || seen.Live != s.Live {
					t.Errorf("%v stands at %d, and its follower saw it at %d", at, s.Sequence, seen.Sequence)
				}
				delete(f.view, at)
			}
		}
	}
	for at := range f.view {
		t.Errorf("%v isn't there, and its follower saw it", at)
	}
}
