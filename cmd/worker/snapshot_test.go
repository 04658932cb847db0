package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// A worker is killed again and again, each time when it has made a part more. The
// next one goes on where it was, and the snapshot is whole.
func TestWorker_ASnapshotSurvivesTheWorkersThatMakeIt(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	router := in.Router(t, postgres.RoleAPI)
	scope := tenancy.Scope{Tenant: domain.NewID[domain.TenantKind](time.Now()), Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "test"}
	gate := tenancy.GateState{State: "open", Layout: domain.Layout, IdentityState: "open", RecordFormat: record.FormatStore}
	if err := tenancy.NewGates(router).Set(t.Context(), scope.Tenant, gate); err != nil {
		t.Fatal(err)
	}
	records := record.New(router, lease.New(router, nil, lease.Options{}), testkit.OpenBodies(t, testkit.BodyStore(t)), record.Options{})
	if _, _, err := records.CreateCollection(t.Context(), scope, record.NewCollection{Name: "orders"}); err != nil {
		t.Fatal(err)
	}
	want := map[string]record.Digest{}
	for i := range 20 { // three to a part
		key, body := fmt.Sprint("item/", i), bytes.Repeat([]byte{byte(i), 0xff, 0}, 500<<10)
		_, err := records.Publish(t.Context(), scope, "orders", nil, record.Publication{
			Key: key, OperationID: key, Bodies: map[string][]byte{"items": body}, Expect: record.Expectation{Absent: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		want[key] = record.DigestOf(body)
	}
	asked, err := records.RequestSnapshot(t.Context(), scope, "orders", "")
	if err != nil {
		t.Fatal(err)
	}

	environ := append(environ(in), testkit.BodiesEnviron(testkit.BodyStore(t))...)
	for parts := 1; parts <= 3; parts++ {
		w := startProcess(t, environ)
		awaitCount(t, in, "data1", `SELECT count(*) FROM snapshot_parts`, parts)
		if err := w.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.exit(t)
		// As River does when it has heard nothing of the job for a minute.
		if _, err := in.Admin(t, "control").Exec(t.Context(), `UPDATE river_job SET state = 'available' WHERE state = 'running'`); err != nil {
			t.Fatal(err)
		}
	}
	w := startProcess(t, environ)
	awaitCount(t, in, "data1", `SELECT count(*) FROM snapshots WHERE state = 'complete'`, 1)
	if err := w.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != exitOK {
		t.Errorf("the exit code is %d", code)
	}

	signed, err := records.PresignSnapshot(t.Context(), scope, "orders", asked.ID, 0, 0)
	if err != nil || signed.Sequence != 20 {
		t.Fatalf("%+v, %v", signed, err)
	}
	got := map[string]record.Digest{}
	for _, part := range signed.Parts {
		response, err := http.Get(part.URL)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || record.DigestOf(text) != part.Digest {
			t.Fatalf("part %d: %v", part.Ordinal, err)
		}
		for lines := json.NewDecoder(bytes.NewReader(text)); lines.More(); {
			var line record.SnapshotLine
			if err := lines.Decode(&line); err != nil {
				t.Fatal(err)
			}
			got[line.Key] = record.DigestOf(*line.Body)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the snapshot (-want +got):\n%s", diff)
	}
}
