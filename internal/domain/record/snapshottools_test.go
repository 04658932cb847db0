package record

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// upkeep is a worker on the keeper's databases and bucket.
func (k *keeper) upkeep(t testing.TB, options Options) *Service {
	t.Helper()
	options.Purpose = tenancy.Maintain
	return k.serve(t, k.in.Router(t, postgres.RoleWorker), options)
}

func (k *keeper) request(t testing.TB, collection string) Snapshot {
	t.Helper()
	requested, err := k.RequestSnapshot(t.Context(), k.scope, collection, k.operation())
	if err != nil {
		t.Fatalf("ask for a snapshot of %s: %v", collection, err)
	}
	return requested.Snapshot
}

// due is the work that there is on snapshots now.
func (k *keeper) due(t testing.TB, w *Service) (all []DueSnapshot) {
	t.Helper()
	for _, db := range k.router.Databases() {
		due, err := w.SnapshotsDue(t.Context(), db.Name, 100)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, due...)
	}
	return all
}

// step makes one step of all work that is due, and gives how much that was.
func (k *keeper) step(t testing.TB, w *Service) int {
	t.Helper()
	due := k.due(t, w)
	for _, d := range due {
		if _, err := w.StepSnapshot(t.Context(), d); err != nil {
			t.Fatalf("a step: %v", err)
		}
	}
	return len(due)
}

// complete makes the snapshot that was asked for.
func (k *keeper) complete(t testing.TB, w *Service, collection string, asked Snapshot) Snapshot {
	t.Helper()
	for k.step(t, w) > 0 {
	}
	sn, err := k.Snapshot(t.Context(), k.scope, collection, asked.ID)
	if err != nil || sn.State != SnapshotComplete {
		t.Fatalf("the snapshot is %+v, %v", sn, err)
	}
	return sn
}

// snapshot makes a snapshot from beginning to end.
func (k *keeper) snapshot(t testing.TB, w *Service, collection string) Snapshot {
	t.Helper()
	return k.complete(t, w, collection, k.request(t, collection))
}

// download gives a complete snapshot's lines, as a reader with nothing but its URLs
// gets and verifies them.
func (k *keeper) download(t testing.TB, collection string, sn Snapshot) (lines []SnapshotLine) {
	t.Helper()
	var length int64
	for after, more := 0, true; more; {
		signed, err := k.PresignSnapshot(t.Context(), k.scope, collection, sn.ID, after, 2)
		if err != nil {
			t.Fatalf("sign: %v", err)
		}
		for _, part := range signed.Parts {
			text := get(t, part.URL)
			if DigestOf(text) != part.Digest || int64(len(text)) != part.Length || bytes.Count(text, []byte("\n")) != part.Lines || part.Ordinal != after+1 {
				t.Fatalf("part %+v is %d bytes of %s, behind %d", part, len(text), DigestOf(text), after)
			}
			lines = append(lines, parseLines(t, text)...)
			length += part.Length
			after = part.Ordinal
		}
		if more = signed.More; !more && after != signed.Snapshot.Parts {
			t.Errorf("%d parts are signed, of %d", after, signed.Snapshot.Parts)
		}
	}
	if int64(len(lines)) != sn.Lines || length != sn.Length {
		t.Errorf("%d lines of %d bytes, want those of %+v", len(lines), length, sn)
	}
	return lines
}

func get(t testing.TB, url string) []byte {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("download: %s, %v", response.Status, err)
	}
	if disposition := response.Header.Get("Content-Disposition"); !strings.HasPrefix(disposition, "attachment") {
		t.Errorf("it comes as %q", disposition)
	}
	return text
}

func parseLines(t testing.TB, text []byte) (lines []SnapshotLine) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	for decoder.More() {
		var line SnapshotLine
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Live && (line.Digest == nil || line.Body == nil || DigestOf(*line.Body) != *line.Digest || int64(len(*line.Body)) != line.Length) ||
			!line.Live && (line.Digest != nil || line.Body != nil || line.Length != 0) {
			t.Errorf("a line contradicts itself: %s %s", line.Key, line.Section)
		}
		lines = append(lines, line)
	}
	return lines
}

// place is where a section is.
type sectionAt struct{ Key, Section string }

// standing is a section as the model and a snapshot have it.
type standing struct {
	Digest   string // "" for a tombstone
	Sequence int64
	Revision int64 // of the record
}

// applied applies lines in order.
func applied(lines []SnapshotLine) map[sectionAt]standing {
	all, revisions := map[sectionAt]standing{}, map[string]int64{}
	for _, line := range lines {
		s := standing{Sequence: line.ExportSequence}
		if line.Live {
			s.Digest = line.Digest.String()
		}
		all[sectionAt{line.Key, line.Section}] = s
		revisions[line.Key] = line.Revision
	}
	return withRevisions(all, revisions)
}

func withRevisions(all map[sectionAt]standing, revisions map[string]int64) map[sectionAt]standing {
	for at, s := range all {
		s.Revision = revisions[at.Key]
		all[at] = s
	}
	return all
}

// ledger is what was published, by receipts: the model of a collection's past.
type ledger struct {
	mu       sync.Mutex
	receipts []Receipt
}

func (l *ledger) add(receipt Receipt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.receipts = append(l.receipts, receipt)
}

// at is the collection as it stood at a sequence.
func (l *ledger) at(sequence int64) map[sectionAt]standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, revisions := map[sectionAt]standing{}, map[string]int64{}
	for _, receipt := range l.receipts {
		for _, change := range receipt.Changes {
			at := sectionAt{receipt.Key, change.Section}
			if change.Sequence > sequence {
				continue
			}
			revisions[receipt.Key] = max(revisions[receipt.Key], receipt.Revision)
			if change.Sequence < all[at].Sequence {
				continue
			}
			s := standing{Sequence: change.Sequence}
			if change.Live {
				s.Digest = change.Digest.String()
			}
			all[at] = s
		}
	}
	return withRevisions(all, revisions)
}

// expectAt downloads a snapshot and holds it to the ledger at its sequence.
func (k *keeper) expectAt(t testing.TB, l *ledger, collection string, sn Snapshot) {
	t.Helper()
	want, got := l.at(sn.Sequence), applied(k.download(t, collection, sn))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the snapshot at %d, of %d sections (-want +got):\n%s", sn.Sequence, len(want), diff)
	}
}

// objects are the keys of a collection's objects, below its prefix.
func (k *keeper) objects(t testing.TB, collection string) (keys []string) {
	t.Helper()
	c, err := k.Collection(t.Context(), k.scope, collection)
	if err != nil {
		t.Fatal(err)
	}
	prefix := collectionPrefix(k.scope.Tenant, c.ID)
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	for after, more := "", true; more; {
		page, m, err := bucket.List(context.Background(), prefix, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page {
			keys, after = append(keys, strings.TrimPrefix(o.Key, prefix)), o.Key
		}
		more = m
	}
	return keys
}

// partsIn are the keys of a snapshot's objects, and of nothing else.
func (k *keeper) partsIn(t testing.TB, collection string, id domain.SnapshotID) []string {
	return slices.DeleteFunc(k.objects(t, collection), func(key string) bool {
		return !strings.HasPrefix(key, fmt.Sprintf("snapshots/v1/%s/", id))
	})
}

// fill publishes records with one section each, some of which are tombstoned.
func (k *keeper) fill(t testing.TB, l *ledger, collection string, records, size int) {
	t.Helper()
	for i := range records {
		body := bytes.Repeat([]byte{byte(i), byte(i >> 8), 0, 0xff}, size/4)
		l.add(k.publish(t, collection, Publication{Key: fmt.Sprintf("item/%05d", i), Bodies: map[string][]byte{"items": body}, Expect: Expectation{Absent: true}}))
	}
}

// gate puts the tenant's gates into a state.
func (k *keeper) gate(t testing.TB, state string) {
	t.Helper()
	gate := tenancy.GateState{State: state, Layout: domain.Layout, IdentityState: "open", RecordFormat: k.format}
	if err := tenancy.NewGates(k.router).Set(t.Context(), k.scope.Tenant, gate); err != nil {
		t.Fatal(err)
	}
}
