package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// album is a service with one snapshot, which is complete when it was looked at so
// often, and the store that has its parts.
type album struct {
	looks  int
	fails  string // with this code, then
	parts  []string
	urls   int // made so far; only the last one works
	spoil  func(part string) string
	asked  map[string]int
	breaks func(n int) error // at the n-th request to the store
}

// newAlbum is a snapshot of parts with sections, told by their keys and bodies.
func newAlbum(parts ...[][2]string) *album {
	a := &album{asked: map[string]int{}}
	for _, part := range parts {
		var lines strings.Builder
		for _, told := range part {
			body := []byte(told[1])
			json.NewEncoder(&lines).Encode(holdfast.ExportedSection{Key: told[0], Section: "items", Live: true, Digest: ptr(digest(body)), Length: int64(len(body)), Body: &body})
		}
		a.parts = append(a.parts, lines.String())
	}
	return a
}

func (a *album) client(t *testing.T) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect("https://holdfast.test", testKey, holdfast.WithHTTPDoer(a))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (a *album) Do(r *http.Request) (*http.Response, error) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/oauth/token"):
		return answer(200, map[string]any{"access_token": "t", "token_type": "Bearer", "expires_in": 86400}), nil
	case r.URL.Host == "store.test":
		a.asked["store"]++
		return a.download(r)
	case r.Method == http.MethodPost:
		a.asked["request"]++
		return answer(202, holdfast.Snapshot{SnapshotID: "s1", State: holdfast.SnapshotRunning}), nil
	}
	a.asked["look"]++
	n := 0
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		n, _ = strconv.Atoi(cursor)
	}
	page := holdfast.SnapshotPage{Snapshot: holdfast.Snapshot{SnapshotID: "s1", State: holdfast.SnapshotRunning}}
	switch {
	case a.asked["look"] <= a.looks:
	case a.fails != "":
		page.Snapshot.State, page.Snapshot.Failure = holdfast.SnapshotFailed, &holdfast.SnapshotFailure{Code: a.fails}
	default:
		page.Snapshot.State, page.Snapshot.ExportSequence = holdfast.SnapshotComplete, ptr(int64(17))
		a.urls++
		page.Parts = []holdfast.SnapshotPart{{
			Ordinal: n + 1, Digest: digest([]byte(a.parts[n])), Length: int64(len(a.parts[n])), Lines: strings.Count(a.parts[n], "\n"),
			URL: fmt.Sprintf("https://store.test/%d/%d", a.urls, n),
		}}
		if n+1 < len(a.parts) {
			page.NextCursor = ptr(fmt.Sprint(n + 1))
		}
	}
	return answer(200, page), nil
}

func (a *album) download(r *http.Request) (*http.Response, error) {
	if a.breaks != nil {
		if err := a.breaks(a.asked["store"]); err != nil {
			return nil, err
		}
	}
	n, _ := strconv.Atoi(path.Base(r.URL.Path))
	text := a.parts[n]
	if a.spoil != nil {
		text = a.spoil(text)
	}
	w := httptest.NewRecorder()
	if path.Dir(r.URL.Path) != fmt.Sprint("/", a.urls) {
		w.WriteHeader(http.StatusForbidden)
		return w.Result(), nil
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	return w.Result(), nil
}

func TestTakeSnapshot_WaitsUntilItIsMadeOrHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlbum([][2]string{{"a", "x"}})
		a.looks = 20
		taken, err := holdfast.TakeSnapshot(t.Context(), a.client(t), "orders")
		if err != nil || *taken.ExportSequence != 17 || a.asked["look"] != 21 || a.asked["request"] != 1 {
			t.Errorf("%+v, %v after %v", taken, err, a.asked)
		}
		a = newAlbum()
		a.fails = "body_unavailable"
		_, err = holdfast.TakeSnapshot(t.Context(), a.client(t), "orders")
		var failed *holdfast.SnapshotFailedError
		if !errors.As(err, &failed) || failed.Snapshot.Failure.Code != "body_unavailable" || !strings.Contains(err.Error(), "body_unavailable") {
			t.Errorf("%v", err)
		}
		a = newAlbum()
		a.looks = 1000
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := holdfast.TakeSnapshot(ctx, a.client(t), "orders"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// told are the sections of the snapshot up to an error.
func told(ctx context.Context, t *testing.T, a *album) (sections [][2]string, err error) {
	for section, err := range holdfast.ReadSnapshot(ctx, a.client(t), "orders", "s1") {
		if err != nil {
			return sections, err
		}
		sections = append(sections, [2]string{section.Key, string(*section.Body)})
	}
	return sections, nil
}

func TestReadSnapshot_GivesEachPartsSectionsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAlbum([][2]string{{"a", "1"}, {"b", "2"}}, nil, [][2]string{{"a", "3"}})
		a.breaks = func(n int) error {
			if n%2 == 1 {
				return errNetwork
			}
			return nil
		}
		sections, err := told(t.Context(), t, a)
		if diff := cmp.Diff([][2]string{{"a", "1"}, {"b", "2"}, {"a", "3"}}, sections); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func TestReadSnapshot_AFalsePartGivesNothing(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(string) string{
		"other bytes": func(s string) string { return strings.Replace(s, `"b"`, `"c"`, 1) },
		"more bytes":  func(s string) string { return s + s },
	} {
		a := newAlbum([][2]string{{"a", "1"}, {"b", "2"}})
		a.spoil = spoil
		sections, err := told(t.Context(), t, a)
		var unverified *holdfast.UnverifiedBodyError
		if !errors.As(err, &unverified) || len(sections) != 0 || !strings.Contains(err.Error(), "part 1") {
			t.Errorf("%s: %v, %v", name, sections, err)
		}
	}
	a := newAlbum([][2]string{{"a", "1"}, {"b", "2"}})
	a.parts[0] = strings.Replace(a.parts[0], digest([]byte("2")), digest([]byte("3")), 1) // as its own digest says
	if sections, err := told(t.Context(), t, a); err == nil || len(sections) != 1 {
		t.Errorf("a section whose body is another: %v, %v", sections, err)
	}
	a = newAlbum([][2]string{{"a", "1"}, {"b", "2"}})
	a.parts[0] += "\n" // three lines, it says then
	if _, err := told(t.Context(), t, a); err == nil || !strings.Contains(err.Error(), "2 of 3 lines") {
		t.Errorf("a part that lacks a line: %v", err)
	}
}

func TestReadSnapshot_EndsWhenNoMoreIsWantedAndIsOfCompleteOnesOnly(t *testing.T) {
	t.Parallel()
	a := newAlbum([][2]string{{"a", "1"}, {"b", "2"}}, [][2]string{{"c", "3"}})
	for range holdfast.ReadSnapshot(t.Context(), a.client(t), "orders", "s1") {
		break
	}
	if a.asked["store"] != 1 {
		t.Errorf("%v", a.asked)
	}
	a.looks = 100
	if _, err := told(t.Context(), t, a); err == nil || !strings.Contains(err.Error(), "running") {
		t.Errorf("%v", err)
	}
}
