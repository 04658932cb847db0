package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBodyMaker_NoTwoBodiesAreAlike_AndTheirTextIsTheirs(t *testing.T) {
	t.Parallel()
	seen := map[[32]byte]bool{}
	for _, maker := range newBodyMakers(3, 64) {
		for range 300 { // more than a byte counts
			maker.next()
			if seen[maker.digest()] {
				t.Fatal("a body came twice")
			}
			seen[maker.digest()] = true
			if decoded, err := base64.StdEncoding.DecodeString(string(maker.text)); err != nil || !bytes.Equal(decoded, maker.bytes) {
				t.Fatalf("%q (%v) is not the text of %x", maker.text, err, maker.bytes)
			}
		}
	}
}

func TestPublisher_SaysTheSameInAllForms(t *testing.T) {
	t.Parallel()
	type publication struct {
		Operation string `json:"operation_id"`
		Key       string `json:"key"`
		Absent    bool   `json:"if_absent"`
		Sections  map[string]struct {
			Body []byte `json:"body"`
		} `json:"sections"`
	}
	p := newPublishers(1, 100)[0]
	p.bodies.next()
	var asked publication
	if err := json.Unmarshal(p.json("operation"), &asked); err != nil {
		t.Fatal(err)
	}
	if asked.Operation != "operation" || !bytes.Equal(asked.Sections["items"].Body, p.bodies.bytes) {
		t.Errorf("as JSON it is %+v", asked)
	}

	_, parameters, err := mime.ParseMediaType(mediaParts)
	if err != nil {
		t.Fatal(err)
	}
	form, err := multipart.NewReader(bytes.NewReader(p.parts("operation")), parameters["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"publication": {`{"operation_id":"operation"}`}, "items": {string(p.bodies.bytes)}}
	if diff := cmp.Diff(want, form.Value); diff != "" {
		t.Errorf("in parts it is (-want +got):\n%s", diff)
	}

	var many struct {
		Items []publication `json:"items"`
	}
	if err := json.Unmarshal(p.many(3), &many); err != nil {
		t.Fatal(err)
	}
	keys, bodies := map[string]bool{}, map[string]bool{}
	for _, item := range many.Items {
		if item.Operation != item.Key || !item.Absent {
			t.Errorf("one of many is %+v", item)
		}
		keys[item.Key], bodies[string(item.Sections["items"].Body)] = true, true
	}
	if len(keys) != 3 || len(bodies) != 3 {
		t.Errorf("3 records have %d keys and %d bodies", len(keys), len(bodies))
	}
}

// hotRecord is a server with one record, of which every second publication finds
// that another was made just before it.
func hotRecord(t *testing.T) (base string, revision *atomic.Int64) {
	revision = &atomic.Int64{}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if asked.Add(1)%2 == 0 {
			revision.Add(1)
		}
		stands := revision.Load()
		expected := r.Header.Get("If-Match") == fmt.Sprintf(`"%d"`, stands) || stands == 0 && r.Header.Get("If-None-Match") == "*"
		if !expected {
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprintf(w, `{"code":"revision_stale","record":{"revision":%d}}`, stands)
			return
		}
		fmt.Fprintf(w, `{"outcome":"published","revision":%d}`, revision.Add(1))
	}))
	t.Cleanup(server.Close)
	return server.URL, revision
}

func TestUpdateOne_TriesAgainFromTheRevisionThatStands(t *testing.T) {
	t.Parallel()
	base, revision := hotRecord(t)
	s := &stack{tenant: newClient(base, 1)}
	u := &updater{publisher: newPublishers(1, 10)[0], collection: collection{name: "c"}, record: "hot"}
	made := 0
	_, err := s.tenant.overWires(t.Context(), 1, time.Minute, func(w *wire, _ int) error {
		if made == 5 {
			return context.Canceled
		}
		for {
			done, err := u.try(s.tenant, w, u.json("operation"))
			if err != nil {
				return err
			}
			if done {
				made++
				return nil
			}
		}
	})
	if made != 5 || u.revision != revision.Load() {
		t.Errorf("%d updates were made, and %d is the revision, not %d: %v", made, u.revision, revision.Load(), err)
	}
}

func TestWire_CountsWhatWasPublished(t *testing.T) {
	t.Parallel()
	const receipt = `{"key":"k","outcome":"published","revision":1}`
	w := &wire{}
	w.answer.WriteString(`{"items":[{"outcome":"published","receipt":` + receipt + `},{"outcome":"conflict","problem":{}}]}`)
	if err := w.made(1); err != nil {
		t.Error(err)
	}
	if err := w.made(2); err == nil {
		t.Error("a conflict was taken for a publication")
	}
}

func TestUsage_TellsOfTimeAndMemory(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("only Linux tells of processes")
	}
	me := usage(os.Getpid())
	if resident := me.resident(); resident < 1<<20 || me.peak() < resident/2 {
		t.Errorf("%d bytes are resident, %d at most", resident, me.peak())
	}
	before := me.cpu()
	for deadline := time.Now().Add(time.Minute); me.cpu() < before+0.05; {
		if time.Now().After(deadline) {
			t.Fatal("a busy process takes no time")
		}
	}
}
