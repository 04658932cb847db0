package record

import (
	"cmp"
	"slices"
	"testing"
)

// judge holds what all producers were told to each other and to what there is.
func (s *storm) judge(t *testing.T) {
	t.Helper()
	count := map[string]int{}
	for _, c := range s.collections {
		var made []*deed
		for _, d := range s.deeds {
			if d.collection != c {
				continue
			}
			count[cmp.Or(d.refusal, string(d.receipt.Outcome))]++
			s.expectKept(t, d)
			if d.refusal == "" && len(d.receipt.Changes) > 0 {
				made = append(made, d)
			}
		}
		s.expectHistory(t, c, made)
		s.expectSound(t, c)
		s.expectObjectsSent(t, c)
	}
	count["to be asked again"] = s.unsure
	t.Logf("%d deeds: %v", len(s.deeds), count)
	for _, outcome := range []string{"published", "superseded", "revision_stale", "to be asked again"} {
		if count[outcome] == 0 {
			t.Errorf("that was no storm: nothing was %s", outcome)
		}
	}
}

// expectKept: the receipt that is kept is the one that was given, and what was
// refused has none.
func (s *storm) expectKept(t *testing.T, d *deed) {
	t.Helper()
	stored, err := s.StoredReceipt(t.Context(), s.scope, d.collection, d.asked.OperationID)
	switch {
	case d.refusal != "" && err == nil:
		t.Errorf("%s was refused with %s, and has a receipt: %+v", d.asked.OperationID, d.refusal, stored.Publication)
	case d.refusal == "" && err != nil:
		t.Errorf("%s was made, and its receipt gives %v", d.asked.OperationID, err)
	case d.refusal == "":
		expectSame(t, d.receipt, *stored.Publication)
	}
}

// expectHistory puts a collection's changes in their order: they are all the
// changes that there ever were, each record's revisions grow by one, each did what
// it was asked on what it expected, and what stands is what the last ones made.
func (s *storm) expectHistory(t *testing.T, c string, made []*deed) {
	t.Helper()
	slices.SortFunc(made, func(a, b *deed) int { return cmp.Compare(a.receipt.Changes[0].Sequence, b.receipt.Changes[0].Sequence) })
	sequence, revisions := int64(0), map[string]int64{}
	stands := map[spot]Change{}
	for _, d := range made {
		r := d.receipt
		if revisions[r.Key]++; r.Revision != revisions[r.Key] {
			t.Errorf("%s is change %d of %s, and made revision %d", r.OperationID, revisions[r.Key], r.Key, r.Revision)
		}
		if e := d.asked.Expect; e.Revision != 0 && r.Revision != e.Revision+1 {
			t.Errorf("%s expected revision %d, and made %d", r.OperationID, e.Revision, r.Revision)
		}
		for section, digest := range d.asked.Expect.Digests {
			if was := stands[spot{c, r.Key, section}]; was.Live != (digest != nil) || digest != nil && *was.Digest != *digest {
				t.Errorf("%s expected another body of %s than there was", r.OperationID, section)
			}
		}
		for _, change := range r.Changes {
			if sequence++; change.Sequence != sequence {
				t.Fatalf("change %d of %s is at %d: one was made that nobody was told of", sequence, c, change.Sequence)
			}
			if body, written := d.asked.Bodies[change.Section]; written != change.Live || written && *change.Digest != DigestOf(body) {
				t.Errorf("%s made something else of %s than was asked", r.OperationID, change.Section)
			}
			stands[spot{c, r.Key, change.Section}] = change
		}
	}
	s.expectStanding(t, c, sequence, revisions, stands)
}

func (s *storm) expectStanding(t *testing.T, c string, sequence int64, revisions map[string]int64, stands map[spot]Change) {
	t.Helper()
	if is, err := s.Collection(t.Context(), s.scope, c); err != nil || is.Sequence != sequence {
		t.Errorf("%s is at %d, %v, and %d changes were made", c, is.Sequence, err, sequence)
	}
	for key, revision := range revisions {
		r, err := s.Record(t.Context(), s.scope, c, key)
		if err != nil || r.Revision != revision {
			t.Errorf("%s is at revision %d, %v, and was changed %d times", key, r.Revision, err, revision)
		}
		for _, section := range r.Sections {
			last := stands[spot{c, key, section.Name}]
			if last.Sequence != section.Sequence || last.Live != section.Live || last.Live && *last.Digest != section.Digest {
				t.Errorf("%s of %s is what %d made, and %d was the last", section.Name, key, section.Sequence, last.Sequence)
			}
		}
	}
}

// expectObjectsSent: whatever is in the bucket was sent by somebody.
func (s *storm) expectObjectsSent(t *testing.T, c string) {
	t.Helper()
	sent := map[Digest]bool{}
	for at, digests := range s.sent {
		for digest := range digests {
			sent[digest] = sent[digest] || at.collection == c
		}
	}
	used, strays := s.descriptors(t, c), 0
	for _, object := range s.objectsOf(t, c) {
		if !sent[object] {
			t.Errorf("the object %s is nobody's", object)
		}
		if !slices.Contains(used, object) {
			strays++
		}
	}
	t.Logf("%s has %d objects that nothing refers to, replaced ones and those of what was refused", c, strays)
}
