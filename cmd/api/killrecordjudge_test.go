package main

import (
	"cmp"
	"slices"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// judge holds what all were told to each other and to what there is.
func (s *recordStorm) judge(t *testing.T, followers []*exportFollower) {
	t.Helper()
	client := door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key)
	count := map[string]int{"to be asked again": s.unsure, "replayed": s.replayed}
	made := map[string][]*publishing{} // by collection
	for _, d := range s.done {
		count[cmp.Or(d.refusal, d.receipt.Outcome)]++
		s.expectKept(t, client, d)
		if d.refusal == "" && len(d.receipt.Changes) > 0 {
			made[d.collection] = append(made[d.collection], d)
		}
	}
	for _, f := range followers {
		stands := s.expectHistory(t, client, f.collection, made[f.collection])
		f.expectAll(t, stands)
	}
	t.Logf("%d publications: %v", len(s.done), count)
	for _, what := range []string{"published", "superseded", "revision_stale", "to be asked again", "replayed"} {
		if count[what] == 0 {
			t.Errorf("that was no storm: nothing was %s", what)
		}
	}
	t.Logf("the check has seen %+v", s.checkRecords(t))
}

// expectKept: the receipt that is kept is the one that was given, and what was
// refused has none.
func (s *recordStorm) expectKept(t *testing.T, client *holdfast.ClientWithResponses, d *publishing) {
	t.Helper()
	var stored *holdfast.StoredReceipt
	err := s.insist(func() error {
		answer, err := client.GetReceiptWithResponse(t.Context(), d.collection, d.asked.OperationID)
		if err == nil {
			stored = answer.JSON200
		}
		return err
	})
	switch {
	case d.refusal != "" && !holdfast.IsCode(err, "receipt_not_found"):
		t.Errorf("%s was refused with %s, and its receipt gives %v", d.asked.OperationID, d.refusal, err)
	case d.refusal == "" && err != nil:
		t.Errorf("%s was acknowledged, and its receipt gives %v", d.asked.OperationID, err)
	case d.refusal == "":
		s.expectSameReceipt(t, d.receipt, *stored.Publication)
	}
}

// expectHistory puts a collection's changes in their order: they are all that there
// ever were, each record's revisions grow by one, each did what it was asked on
// what it expected, and what stands is what the last ones made. It gives what
// stands.
func (s *recordStorm) expectHistory(t *testing.T, client *holdfast.ClientWithResponses, c string, made []*publishing) map[bodyPlace]holdfast.SectionChange {
	t.Helper()
	slices.SortFunc(made, func(a, b *publishing) int {
		return cmp.Compare(a.receipt.Changes[0].ExportSequence, b.receipt.Changes[0].ExportSequence)
	})
	sequence, revisions := int64(0), map[string]int64{}
	stands := map[bodyPlace]holdfast.SectionChange{}
	for _, d := range made {
		key, r := d.asked.Key, d.receipt
		if revisions[key]++; r.Revision != revisions[key] {
			t.Errorf("%s is change %d of %s, and made revision %d", d.asked.OperationID, revisions[key], key, r.Revision)
		}
		if d.asked.IfRevision != nil && r.Revision != *d.asked.IfRevision+1 {
			t.Errorf("%s expected revision %d, and made %d", d.asked.OperationID, *d.asked.IfRevision, r.Revision)
		}
		if d.asked.Expect != nil {
			for section, digest := range *d.asked.Expect {
				if was := stands[bodyPlace{c, key, section}].Digest; orNone(was) != orNone(digest) {
					t.Errorf("%s expected %s as %s, and it was %s", d.asked.OperationID, section, orNone(digest), orNone(was))
				}
			}
		}
		for _, change := range r.Changes {
			if sequence++; change.ExportSequence != sequence {
				t.Fatalf("change %d of %s is at %d: one was made that nobody was told of", sequence, c, change.ExportSequence)
			}
			body, written := (*d.asked.Sections)[change.Section]
			if written != change.Live || written && *change.Digest != digestOf(body.Body) {
				t.Errorf("%s made something else of %s than was asked", d.asked.OperationID, change.Section)
			}
			stands[bodyPlace{c, key, change.Section}] = change
		}
	}
	collection, err := client.GetCollectionWithResponse(t.Context(), c)
	if err != nil || collection.JSON200.ExportSequence != sequence {
		t.Errorf("%d changes were made in %s, and it is otherwise, %v", sequence, c, err)
	}
	s.expectStanding(t, client, c, revisions, stands)
	return stands
}

// expectStanding reads every record, and every body.
func (s *recordStorm) expectStanding(t *testing.T, client *holdfast.ClientWithResponses, c string, revisions map[string]int64, stands map[bodyPlace]holdfast.SectionChange) {
	t.Helper()
	for key, revision := range revisions {
		var r *holdfast.Record
		if err := s.insist(func() error {
			answer, err := client.GetRecordWithResponse(t.Context(), c, key, &holdfast.GetRecordParams{Include: withBodies})
			if err == nil {
				r = answer.JSON200
			}
			return err
		}); err != nil {
			t.Errorf("%s was published, and reading it gives %v", key, err)
			continue
		}
		if r.Revision != revision {
			t.Errorf("%s was changed %d times, and is at revision %d", key, revision, r.Revision)
		}
		for name, section := range r.Sections {
			last := stands[bodyPlace{c, key, name}]
			if last.ExportSequence != section.ExportSequence || orNone(last.Digest) != orNone(section.Digest) {
				t.Errorf("%s of %s is what %d made, and %d was the last", name, key, section.ExportSequence, last.ExportSequence)
			} else if section.Live && digestOf(*section.Body) != *section.Digest {
				t.Errorf("%s of %s isn't its digest's", name, key)
			}
		}
	}
}

// expectAll holds what the follower has seen to what stands.
func (f *exportFollower) expectAll(t *testing.T, stands map[bodyPlace]holdfast.SectionChange) {
	t.Helper()
	var last *holdfast.ExportPage
	for more := true; more; {
		if err := f.insist(func() error {
			answer, err := f.client.ExportRecordsWithResponse(t.Context(), f.collection, &holdfast.ExportRecordsParams{After: &f.after, Limit: ptr(int64(50))})
			if err == nil {
				last = answer.JSON200
			}
			return err
		}); err != nil {
			t.Fatalf("the export of %s: %v", f.collection, err)
		}
		for _, e := range last.Records {
			f.view[bodyPlace{f.collection, e.Key, e.Section}] = e
		}
		f.after, more = last.Next, last.More
	}
	for at, change := range stands {
		if seen := f.view[at]; seen.ExportSequence != change.ExportSequence || orNone(seen.Digest) != orNone(change.Digest) || seen.Live != change.Live {
			t.Errorf("%v stands at %d, and its follower saw it at %d", at, change.ExportSequence, seen.ExportSequence)
		}
	}
	if len(f.view) != len(stands) {
		t.Errorf("the follower of %s has seen %d sections, and there are %d", f.collection, len(f.view), len(stands))
	}
}
