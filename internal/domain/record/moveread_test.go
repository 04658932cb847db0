package record

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// versioned is a body that says what it is of: a mix of two would show.
func versioned(key, section string, version int64, large bool) []byte {
	body := fmt.Appendf(nil, "%s %s %d ", key, section, version)
	if large {
		return []byte(strings.Repeat(string(body), 600<<10/len(body)))
	}
	return body
}

// parsed reads what versioned made, and holds it to where it was found.
func parsed(t testing.TB, body []byte, key, section string) (version int64) {
	t.Helper()
	var k, s string
	if _, err := fmt.Sscanf(string(body), "%s %s %d ", &k, &s, &version); err != nil || k != key || s != section {
		t.Errorf("%s of %s reads as %.40q, %v", section, key, body, err)
	}
	return version
}

// wanderer is a collection whose records passes move back and forth, while somebody
// publishes and others read.
type wanderer struct {
	*keeper
	name  string
	keys  []string
	reads map[string]*atomic.Int64 // by what is read
}

// R24: who reads a tuple while passes move it back and forth finds all of it, at one
// revision, and never an older one than before.
func TestReaders_WhilePassesMoveBackAndForth_SeeWholeTuples(t *testing.T) {
	t.Parallel()
	const enough, rounds = 800, 6
	k := newKeeper(t, FormatSQL)
	w := &wanderer{keeper: k, name: k.collection(t, "orders"), reads: map[string]*atomic.Int64{}}
	for i := range 12 {
		w.keys = append(w.keys, fmt.Sprint("key-", i))
		w.put(t, i, 1, Expectation{Absent: true})
	}
	var over atomic.Bool
	var others sync.WaitGroup
	others.Go(func() {
		for version := int64(2); !over.Load() && !t.Failed(); version++ {
			i := int(version*5) % len(w.keys)
			r, err := k.Record(t.Context(), k.scope, w.name, w.keys[i])
			if err != nil {
				t.Errorf("%s: %v", w.keys[i], err)
				return
			}
			w.put(t, i, version, Expectation{Revision: r.Revision})
		}
	})
	for name, read := range map[string]func(*testing.T, map[string]int64){"body": w.readBody, "stat": w.readStat, "record": w.readRecord, "export": w.readExport} {
		n := &atomic.Int64{}
		w.reads[name] = n
		others.Go(func() {
			seen := map[string]int64{} // revisions, by key
			for !over.Load() && !t.Failed() {
				read(t, seen)
				n.Add(1)
			}
		})
	}
	m, moved, turns := k.mover(t, w.name, Options{}), 0, 0
	for to := FormatStore; (turns < rounds || !w.readOften(enough)) && !t.Failed(); to = other(to) {
		upTo := m.turn(t, to)
		moved += m.walk(t, other(to), upTo, func() {})
		turns++
	}
	over.Store(true)
	others.Wait()
	for name, n := range w.reads {
		t.Logf("%s was read %d times, while %d records went over in %d turns", name, n.Load(), moved, turns)
	}
	if moved < len(w.keys)*rounds/2 {
		t.Errorf("%d records were moved only", moved)
	}
	k.expectSound(t, w.name)
	k.finds(t)
}

func (w *wanderer) readOften(enough int64) bool {
	for _, n := range w.reads {
		if n.Load() < enough {
			return false
		}
	}
	return true
}

// put publishes a version of a record, of which some are in chunks.
func (w *wanderer) put(t *testing.T, i int, version int64, expect Expectation) {
	key := w.keys[i]
	w.publish(t, w.name, Publication{Key: key, Expect: expect, Bodies: map[string][]byte{
		"items": versioned(key, "items", version, i%6 == 0), "plans": versioned(key, "plans", version, false),
	}})
}

// goesOn holds a record's revision to the one that was seen before.
func goesOn(t *testing.T, seen map[string]int64, key string, revision int64) {
	if revision < seen[key] {
		t.Errorf("%s is at %d, and was at %d", key, revision, seen[key])
	}
	seen[key] = revision
}

func (w *wanderer) readBody(t *testing.T, seen map[string]int64) {
	key := w.keys[int(w.reads["body"].Load())%len(w.keys)]
	b, err := w.Body(t.Context(), w.scope, w.name, key, "items")
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return
	}
	defer b.Close()
	parsed(t, b.Body, key, "items")
	if DigestOf(b.Body) != b.Digest {
		t.Errorf("%s isn't its digest's body", key)
	}
	goesOn(t, seen, key, b.Revision)
}

func (w *wanderer) readStat(t *testing.T, seen map[string]int64) {
	key := w.keys[int(w.reads["stat"].Load())%len(w.keys)]
	s, err := w.Stat(t.Context(), w.scope, w.name, key, "plans")
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return
	}
	goesOn(t, seen, key, s.Revision)
}

func (w *wanderer) readRecord(t *testing.T, seen map[string]int64) {
	key := w.keys[int(w.reads["record"].Load())%len(w.keys)]
	b, err := w.RecordWithBodies(t.Context(), w.scope, w.name, key)
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return
	}
	defer b.Close()
	if len(b.Sections) != 2 {
		t.Errorf("%s has %d sections", key, len(b.Sections))
		return
	}
	items, plans := parsed(t, b.Sections[0].Body, key, "items"), parsed(t, b.Sections[1].Body, key, "plans")
	if items != plans {
		t.Errorf("%s at %d is a mix of %d and %d", key, b.Revision, items, plans)
	}
	goesOn(t, seen, key, b.Revision)
}

func (w *wanderer) readExport(t *testing.T, seen map[string]int64) {
	page, err := w.Export(t.Context(), w.scope, w.name, ExportRequest{Section: "plans", Bodies: true})
	if err != nil {
		t.Errorf("export: %v", err)
		return
	}
	defer page.Close()
	if len(page.Records) != len(w.keys) || page.More {
		t.Errorf("the export has %d records", len(page.Records))
	}
	for _, e := range page.Records {
		parsed(t, e.Body, e.Key, "plans")
		goesOn(t, seen, e.Key, e.Revision)
	}
}
