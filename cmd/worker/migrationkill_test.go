package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// Workers are killed one after the other, each at another place: with an object that
// is in the store and that nobody knows of, with one that is being read back, and
// before and behind a pass's commit. After each the API tells its callers the same
// as before, in every way in which they can ask, and the last worker brings the run
// to its end.
func TestWorker_WhoeverIsKilledInARun_CallersAreToldTheSame(t *testing.T) {
	t.Parallel()
	faults := testkit.NewStoreFaults(t)
	settings := faults.Proxied(t, testkit.BodyStore(t))
	most := kills(t)
	m := newMoving(t, settings, 12*(most+1))
	client := m.client(t)
	before := m.asked(t, client)
	network := m.in.Through(t)
	data := network.Settings(postgres.RoleWorker).Data[0]
	environ := append(environ(m.in), testkit.BodiesEnviron(settings)...)
	environ = append(environ, "HOLDFAST_DATA_URLS="+data.Name+"="+data.URL)
	for n := range most {
		met, release := m.lieInWait(t, n, faults, network)
		w := startProcess(t, environ)
		select {
		case <-met:
		case <-time.After(2 * time.Minute):
			t.Fatal("the worker doesn't come to where it is to be killed")
		}
		if err := w.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		release()
		w.exit(t)
		if diff := cmp.Diff(before, m.asked(t, client)); diff != "" {
			t.Errorf("behind kill %d callers are told something else (-before +after)\n%s", n+1, diff)
		}
		// As River does when it has heard nothing of the job for a minute.
		if _, err := m.in.Admin(t, "control").Exec(t.Context(), `UPDATE river_job SET state = 'available' WHERE state = 'running'`); err != nil {
			t.Fatal(err)
		}
	}
	w := startProcess(t, environ)
	awaitCount(t, m.in, "control", `SELECT count(*) FROM migrations WHERE state = 'drained'`, 1)
	if err := w.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := w.exit(t); code != exitOK {
		t.Errorf("the exit code is %d", code)
	}
	if diff := cmp.Diff(before, m.asked(t, client)); diff != "" {
		t.Errorf("in the end callers are told something else (-before +after)\n%s", diff)
	}
	runs, err := m.moves.Runs(t.Context(), m.migration.Tenant, m.migration.ID)
	if err != nil || len(runs) != 1 || runs[0].Outcome != migration.OutcomeDrained {
		t.Errorf("the runs are %+v (%v), want one that has drained the collection", runs, err)
	}
	var moved, left int
	err = m.in.Admin(t, "data1").QueryRow(t.Context(),
		`SELECT (SELECT bodies FROM migration_checkpoints), (SELECT count(*) FROM sections_in_sql)`).Scan(&moved, &left)
	if err != nil || moved != len(m.bodies) || left != 0 {
		t.Errorf("%d bodies were counted, and %d are left in SQL (%v), want %d and none", moved, left, err, len(m.bodies))
	}
}

// kills is how many workers are killed: one at each place, or as many as
// HOLDFAST_TEST_WORKER_KILLS says.
func kills(t *testing.T) int {
	text := os.Getenv("HOLDFAST_TEST_WORKER_KILLS")
	if text == "" {
		return 4
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("HOLDFAST_TEST_WORKER_KILLS is %q", text)
	}
	return n
}

// lieInWait tells when the next worker comes to a place where it is to be killed.
// What holds it there is released behind the kill.
func (m *moving) lieInWait(t *testing.T, n int, faults *testkit.StoreFaults, network *testkit.Proxied) (met <-chan struct{}, release func()) {
	t.Helper()
	const insert = "INSERT INTO sections_in_store"
	switch n % 4 {
	case 0, 1:
		came := make(chan struct{})
		hang := func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			if answer, err := pass(); err == nil {
				answer.Body.Close()
			}
			close(came)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		method := []string{"PUT", "GET"}[n%4]
		faults.When(method+" of a body", func(r *http.Request) bool {
			return r.Method == method && strings.Contains(r.URL.Path, "/bodies/")
		}, nil, nil, nil, nil, nil, hang)
		return came, func() {}
	case 2: // the commit never arrives
		trap := network.HoldBefore(t, testkit.CommitOf(insert))
		return trap.Met(), network.Proxy("data1").CutAll
	default: // it arrives behind the death
		trap := network.HoldBefore(t, testkit.CommitOf(insert))
		return trap.Met(), trap.Release
	}
}

// client is a caller of a real API, in a process of its own, with a key of the
// tenant's.
func (m *moving) client(t *testing.T) *holdfast.ClientWithResponses {
	t.Helper()
	router := m.in.Router(t, postgres.RoleAPI)
	var key tenancy.ServerKey
	key.ID = "k1"
	copy(key.Secret[:], bytes.Repeat([]byte{0x5e}, 32)) // as environ has it
	keys, err := tenancy.NewServerKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, time.Now)
	reader, _, err := store.CreatePrincipal(t.Context(), operator("ada"), m.scope.Tenant, tenancy.NewPrincipal{Name: "reader", Scopes: []string{"record:read"}})
	if err != nil {
		t.Fatal(err)
	}
	_, text, _, err := store.CreateKey(t.Context(), operator("ada"), m.scope.Tenant, tenancy.NewKey{Principal: reader.ID})
	if err != nil {
		t.Fatal(err)
	}
	client, err := holdfast.Connect(m.startAPI(t), text)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// startAPI builds the API and runs it until the test ends. It gives its URL.
func (m *moving) startAPI(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "api")
	if out, err := exec.Command("go", "build", "-o", program, "../api").CombinedOutput(); err != nil {
		t.Fatalf("build the API: %v\n%s", err, out)
	}
	api := exec.Command(program)
	api.Env = append(environ(m.in), testkit.BodiesEnviron(testkit.BodyStore(t))...)
	api.Env = append(api.Env, "HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_ISSUER=https://id.example")
	var log bytes.Buffer
	api.Stderr = &log
	said, err := api.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		api.Process.Kill()
		api.Wait()
	})
	ready, _ := bufio.NewReader(said).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(ready), "listens on ")
	if !found {
		t.Fatalf("the API said %q\n%s", ready, &log)
	}
	return url
}

// asked is what callers are told of every record: by itself with its bodies, each
// body alone, the export, and the receipts. The client holds each body to its
// digest.
func (m *moving) asked(t *testing.T, client *holdfast.ClientWithResponses) map[string]string {
	t.Helper()
	told := map[string]string{}
	collection, err := client.GetCollectionWithResponse(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	told["collection"] = fmt.Sprint(collection.JSON200.ExportSequence)
	for page, err := range holdfast.FollowExport(t.Context(), client, "orders", holdfast.FollowOptions{UntilCaughtUp: true, Bodies: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Records {
			told[fmt.Sprint("export ", e.ExportSequence)] = fmt.Sprint(e.Key, e.Section, e.Revision, e.Live, *e.Digest, e.Length, e.Producer, e.UpdatedAt)
		}
	}
	for key := range m.bodies {
		record, err := holdfast.ReadRecord(t.Context(), client, "orders", key)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		for name, s := range record.Sections {
			told[key+" "+name] = fmt.Sprint(record.Revision, s.Live, *s.Digest, s.Length, s.ExportSequence, s.Producer, s.UpdatedAt)
		}
		body, err := holdfast.ReadBody(t.Context(), client, "orders", key, "items")
		if err != nil || body.Digest != m.bodies[key].String() {
			t.Errorf("the body of %s: %v", key, err)
		}
		receipt, err := client.GetReceiptWithResponse(t.Context(), "orders", key)
		if err != nil {
			t.Fatalf("the receipt of %s: %v", key, err)
		}
		told["receipt "+key] = strings.TrimSpace(string(receipt.Body))
	}
	return told
}
