package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// A snapshot that was asked for is asked of the worker of its database at once; who
// can't ask there has it all the same, a little later.
func TestRequestSnapshot_AsksForTheJob(t *testing.T) {
	t.Parallel()
	for key, replayed := range map[string]string{"k-1": "", "replayed": "true"} {
		a := newTestAPI(t, testOptions{})
		for _, err := range []error{nil, domain.Unavailable("jobs_unavailable", "Ask again.")} {
			a.jobs.err = err
			w := a.do(t, request{method: "POST", target: orders("/snapshots"), headers: []string{"Idempotency-Key: " + key}})
			const want = `{"collection":"orders","length":0,"lines":0,"part_count":0,"requested_at":"2026-01-02T03:04:05Z","snapshot_id":"02000000-0000-0000-0000-000000000000","state":"running"}`
			if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusAccepted || !sameJSON(t, got, want, "requested_at") || w.Header().Get("Idempotent-Replayed") != replayed {
				t.Errorf("%d %v %s", w.Code, w.Header(), got)
			}
			if diff := cmp.Diff(any([]string{"orders", key}), a.records.got); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
			if a.jobs.kind != "snapshots" || !slices.Equal(a.jobs.got, []string{"data3"}) {
				t.Errorf("asked for %s on %v", a.jobs.kind, a.jobs.got)
			}
		}
	}
}

// sameJSON compares two objects but for one member.
func sameJSON(t *testing.T, got, want, but string) bool {
	t.Helper()
	var a, b map[string]any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	delete(a, but)
	delete(b, but)
	return cmp.Equal(a, b)
}

func TestRequestSnapshot_ThatIsRunningTellsWhich(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.err = domain.Conflict("snapshot_running", "One is being made.").With("snapshot_id", "x")
	w := a.do(t, request{method: "POST", target: orders("/snapshots")})
	if p := problemIn(t, w); p.Status != http.StatusConflict || p.Code != "snapshot_running" || !strings.Contains(w.Body.String(), `"snapshot_id":"x"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestListSnapshots_TellsOfEachWhatItsStateHas(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: orders("/snapshots")})
	var list Snapshots
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK || len(list.Snapshots) != 3 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	running, failed, complete := list.Snapshots[0], list.Snapshots[1], list.Snapshots[2]
	if running.State != SnapshotRunning || running.EndedAt != nil || running.ExportSequence != nil || running.Failure != nil {
		t.Errorf("running: %+v", running)
	}
	if failed.State != SnapshotFailed || failed.EndedAt == nil || failed.ExportSequence != nil || failed.Failure.Code != "body_unavailable" || *failed.Failure.Key != "a" {
		t.Errorf("failed: %+v", failed)
	}
	if complete.State != SnapshotComplete || complete.EndedAt == nil || *complete.ExportSequence != 0 || complete.PartCount != 3 || complete.Lines != 30 || complete.Length != 300 {
		t.Errorf("complete: %+v", complete)
	}
}

func TestGetSnapshot_PagesThroughTheParts(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	get := func(id domain.SnapshotID, query string) (page SnapshotPage) {
		t.Helper()
		w := a.do(t, request{method: "GET", target: orders("/snapshots/" + id.String() + query)})
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		return page
	}
	first := get(completeSnapshot.ID, "?limit=2")
	if len(first.Parts) != 2 || first.NextCursor == nil || first.ExpiresAt == nil || first.Parts[0].URL == "" {
		t.Fatalf("the first page is %+v", first)
	}
	second := get(completeSnapshot.ID, "?limit=2&cursor="+*first.NextCursor)
	if len(second.Parts) != 1 || second.NextCursor != nil || second.Parts[0].Ordinal != 3 {
		t.Errorf("the second page is %+v", second)
	}
	for _, id := range []domain.SnapshotID{runningSnapshot.ID, failedSnapshot.ID} {
		if page := get(id, ""); page.Parts == nil || len(page.Parts) != 0 || page.ExpiresAt != nil || page.NextCursor != nil {
			t.Errorf("of one that isn't complete: %+v", page)
		}
	}
	for target, code := range map[string]string{
		"/snapshots/x": "snapshot_not_found",
		"/snapshots/" + domain.SnapshotID{9}.String():                                          "snapshot_not_found",
		"/snapshots/" + runningSnapshot.ID.String() + "?cursor=" + *first.NextCursor:           "cursor_invalid",
		"/snapshots/" + completeSnapshot.ID.String() + "?cursor=" + *first.NextCursor + "&x=1": "request_invalid",
	} {
		if p := problemIn(t, a.do(t, request{method: "GET", target: orders(target)})); p.Code != code {
			t.Errorf("%s: %+v, want %s", target, p, code)
		}
	}
}

func TestListSweeps_TellsOfRecordsToo(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.records.progress = []record.SweepProgress{{Database: "data1", Kind: "objects", Family: record.FamilyCollection, Numbers: 64, Passes: 2}}
	w := a.do(t, request{method: "GET", target: "/v1/sweeps", token: "operator"})
	if !strings.Contains(w.Body.String(), `"family":"collection"`) || !strings.Contains(w.Body.String(), `"kind":"objects"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
