package record

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reference says, in the plainest way, what a collection must be behind a row of
// publications. It shares no code with what it is compared with.
type reference struct {
	primaries  []string
	companions map[string][]string // by section: what it accompanies
	format     int16

	records  map[string]*referenceRecord
	sequence int64
	receipts map[string]referenceReceipt // by operation id
	fences   map[string]referenceFence
}

type referenceRecord struct {
	revision int64
	sections map[string]referenceSection // tombstones too
}

type referenceSection struct {
	live     bool
	body     string
	producer string
	sequence int64
	format   int16 // in which its row is
}

type referenceFence struct {
	revision int64
	request  string // without its operation and its expectation
}

type referenceReceipt struct {
	request string
	answer  answer
}

// request is a publication in plain words.
type request struct {
	operation  string
	producer   string
	key        string
	everything bool // a delete
	bodies     map[string]string
	tombstones []string
	// One of these is set.
	revision int64
	absent   bool
	digests  map[string]*string // bodies whose digests are expected; nil for none
	fence    *Fence
}

// answer is what a publication comes to: an error's code, or a receipt.
type answer struct {
	Code     string
	Outcome  string
	Revision int64
	Fence    int64 // the revision that stands under the fence
	Changes  []string
	Replayed bool
}

func (r *request) content() string {
	return fmt.Sprintf("%q %v %q %q", r.key, r.everything, r.bodies, slices.Sorted(slices.Values(r.tombstones)))
}

func (r *request) asked() string {
	expected := map[string]string{}
	for section, body := range r.digests {
		expected[section] = "none"
		if body != nil {
			expected[section] = "some " + *body
		}
	}
	fence := ""
	if r.fence != nil {
		fence = fmt.Sprint(*r.fence)
	}
	return fmt.Sprintf("%s %d %v %q %q", r.content(), r.revision, r.absent, expected, fence)
}

func (m *reference) publish(r request) answer {
	if made, known := m.receipts[r.operation]; known {
		if made.request != r.asked() {
			return answer{Code: "operation_id_reused"}
		}
		made.answer.Replayed = true
		return made.answer
	}
	a := m.decide(r)
	if a.Code == "" && r.operation != "" {
		m.receipts[r.operation] = referenceReceipt{r.asked(), a}
	}
	return a
}

func (m *reference) decide(r request) answer {
	if named := slices.DeleteFunc(slices.Clone(m.primaries), func(p string) bool { _, is := r.bodies[p]; return !is }); len(named) > 1 {
		return answer{Code: "primaries_exclusive"}
	}
	record := m.records[r.key]
	before := record.live()
	switch {
	case r.absent && len(before) > 0:
		return answer{Code: "record_exists"}
	case r.revision != 0 && len(before) == 0:
		return answer{Code: "record_not_found"}
	case r.revision != 0 && record.revision != r.revision:
		return answer{Code: "revision_stale"}
	}
	for section, want := range r.digests {
		has, is := before[section]
		if is != (want != nil) || is && has != *want {
			return answer{Code: "digest_mismatch"}
		}
	}
	done := answer{Outcome: "published", Changes: []string{}}
	if record != nil {
		done.Revision = record.revision
	}
	if r.fence != nil {
		stands, is := m.fences[r.fence.Key]
		switch {
		case is && stands.revision > r.fence.Revision:
			done.Outcome, done.Fence = "superseded", stands.revision
			return done
		case is && stands.revision == r.fence.Revision && stands.request == r.content():
			done.Outcome, done.Fence = "deduplicated", stands.revision
			return done
		case is && stands.revision == r.fence.Revision:
			return answer{Code: "fence_revision_reused"}
		}
		done.Fence = r.fence.Revision
	}
	after, code := m.after(before, r)
	switch {
	case code != "":
		return answer{Code: code}
	case record == nil && len(after) == 0:
		return answer{Code: "record_not_found"}
	case record == nil:
		record = &referenceRecord{sections: map[string]referenceSection{}}
		m.records[r.key] = record
	}
	m.change(record, before, after, r, &done)
	if r.fence != nil {
		m.fences[r.fence.Key] = referenceFence{r.fence.Revision, r.content()}
	}
	return done
}

// after is which sections are live then, or why it can't be.
func (m *reference) after(before map[string]string, r request) (map[string]string, string) {
	after := maps.Clone(before)
	for _, primary := range m.primaries {
		if _, written := r.bodies[primary]; written {
			for _, other := range m.primaries {
				delete(after, other)
			}
		}
	}
	maps.Copy(after, r.bodies)
	for _, section := range r.tombstones {
		delete(after, section)
	}
	if r.everything {
		after = map[string]string{}
	}
	for companion, beside := range m.companions {
		if _, is := after[companion]; !is {
			continue
		}
		alone := true
		for _, primary := range beside {
			if _, is := after[primary]; is {
				alone = false
			}
		}
		if _, written := r.bodies[companion]; alone && written {
			return nil, "primary_missing"
		}
		if alone {
			delete(after, companion)
		}
	}
	return after, ""
}

func (m *reference) change(record *referenceRecord, before, after map[string]string, r request, done *answer) {
	for _, section := range slices.Sorted(slices.Values(slices.Concat(m.primaries, slices.Collect(maps.Keys(m.companions))))) {
		_, was := before[section]
		body, is := after[section]
		_, written := r.bodies[section]
		if !written && was == is {
			continue
		}
		m.sequence++
		record.sections[section] = referenceSection{is, body, r.producer, m.sequence, m.format}
		done.Changes = append(done.Changes, fmt.Sprintf("%d %s", m.sequence, shownSection(section, is, body)))
	}
	if len(done.Changes) > 0 {
		record.revision++
	}
	done.Revision = record.revision
}

func shownSection(section string, live bool, body string) string {
	if !live {
		return section + " gone"
	}
	return fmt.Sprintf("%s %d bytes %x", section, len(body), sha256.Sum256([]byte(body)))
}

func (r *referenceRecord) live() map[string]string {
	live := map[string]string{}
	if r != nil {
		for name, s := range r.sections {
			if s.live {
				live[name] = s.body
			}
		}
	}
	return live
}

// list tells of all records; export of all sections, in the order of their
// changes.
func (m *reference) list() (lines []string) {
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		r := m.records[key]
		lines = append(lines, fmt.Sprintf("%s at %d, live %v", key, r.revision, len(r.live()) > 0))
		for _, name := range slices.Sorted(maps.Keys(r.sections)) {
			s := r.sections[name]
			lines = append(lines, fmt.Sprintf("%d by %s in %d: %s", s.sequence, s.producer, s.format, shownSection(name, s.live, s.body)))
		}
	}
	return lines
}

func (m *reference) export(of string) (lines []string) {
	byPlace := map[int64]string{}
	for key, r := range m.records {
		for name, s := range r.sections {
			if of == "" || of == name {
				byPlace[s.sequence] = fmt.Sprintf("%d %s at %d: %s", s.sequence, key, r.revision, shownSection(name, s.live, s.body))
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(byPlace)) {
		lines = append(lines, byPlace[place])
	}
	return lines
}

// rows is how many rows there are.
func (m *reference) rows() string {
	var inSQL, inStore, chunks, all int
	for _, r := range m.records {
		for _, s := range r.sections {
			all++
			if s.format == FormatStore {
				inStore++
				continue
			}
			inSQL++
			if len(s.body) > 512<<10 {
				chunks += (len(s.body) + 512<<10 - 1) / (512 << 10)
			}
		}
	}
	return strings.Join([]string{
		fmt.Sprint("sequence ", m.sequence), fmt.Sprint("records ", len(m.records)), fmt.Sprint("sections_in_sql ", inSQL),
		fmt.Sprint("section_chunks ", chunks), fmt.Sprint("sections_in_store ", inStore), fmt.Sprint("export_entries ", all),
		fmt.Sprint("receipts ", len(m.receipts)), fmt.Sprint("fences ", len(m.fences)),
	}, ", ")
}
