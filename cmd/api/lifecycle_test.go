package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func fetch(t testing.TB, url string) (status int, body string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestStart_RefusesWhatItCannotServe(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	data := s.installation.Settings(postgres.RoleAPI).Data
	empty := testkit.EmptyDatabases(t, 1).Settings(postgres.RoleAPI)
	for name, c := range map[string]struct {
		changes []string
		says    []string
	}{
		"a wrong configuration, every problem at once": {
			[]string{"HOLDFAST_SERVER_KEYS=secret", "HOLDFAST_POOL_SIZE=many"}, []string{"HOLDFAST_SERVER_KEYS", "HOLDFAST_POOL_SIZE"},
		},
		"databases without a schema": {
			[]string{"HOLDFAST_CONTROL_URL=" + empty.Control, "HOLDFAST_DATA_URLS=data1=" + empty.Data[0].URL, "HOLDFAST_PLACEMENT="}, []string{"run holdfast schema up"},
		},
		"another placement": {
			[]string{"HOLDFAST_PLACEMENT=data1=0-30,63 data2=31-62"}, []string{
				"open on data2, and placed on data1: the numbers 63", "open on data1, and placed on data2: the numbers 31", "HOLDFAST_PLACEMENT",
			},
		},
		"swapped databases": {
			[]string{"HOLDFAST_DATA_URLS=data1=" + data[1].URL + " data2=" + data[0].URL}, []string{
				"open on data2, and placed on data1: the numbers 0-31", "open on data1, and placed on data2: the numbers 32-63", "HOLDFAST_DATA_URLS",
			},
		},
		"a database that isn't there": {[]string{"HOLDFAST_CONTROL_URL=postgres://127.0.0.1:1/none"}, []string{"control database"}},
		"a password that is wrong":    {[]string{"HOLDFAST_API_PASSWORD=wrong"}, []string{"control database"}},
		"an address that is no one's": {[]string{"HOLDFAST_API_ADDRESS=192.0.2.1:1"}, []string{"the API's address"}},
	} {
		var stdout strings.Builder
		err := run(t.Context(), s.environ(c.changes...), s.fetch, &stdout, io.Discard)
		if err == nil || stdout.Len() > 0 {
			t.Errorf("%s: it started: %v %q", name, err, stdout.String())
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q isn't in %v", name, want, err)
			}
		}
	}
}

func TestProcess_AWrongStartExitsWithTheReasonAndNoSecret(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := &running{log: &lockedBuffer{}}
	err := s.command(r, "HOLDFAST_SERVER_KEYS=k1:hunter2").Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitSetting {
		t.Errorf("it ended with %v", err)
	}
	if log := r.log.String(); !strings.Contains(log, "HOLDFAST_SERVER_KEYS") || strings.Contains(log, "hunter2") {
		t.Errorf("it said %s", log)
	}
}

func TestReady_NamesTheDatabasesAndFailsWithOne(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	status, body := fetch(t, r.url+"/readyz")
	for _, check := range []string{"database/control", "database/data1", "database/data2", "tokens"} {
		if status != http.StatusOK || !strings.Contains(body, `{"name":"`+check+`","status":"ok"}`) {
			t.Errorf("readyz is %d %s", status, body)
		}
	}
	// A newer build's schema comes before its processes, and this one serves on.
	if _, err := s.installation.Admin(t, "data2").Exec(t.Context(), `INSERT INTO goose_data (version_id, is_applied) VALUES (99999, true)`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.installation.Admin(t, "control").Exec(t.Context(), `INSERT INTO river_migration (line, version) VALUES ('main', 99999)`); err != nil {
		t.Fatal(err)
	}
	if status, body = fetch(t, r.url+"/readyz"); status != http.StatusOK {
		t.Errorf("under a newer schema, readyz is %d %s", status, body)
	}
	if _, err := s.installation.Admin(t, "data2").Exec(t.Context(), `DELETE FROM goose_data WHERE version_id = 1`); err != nil {
		t.Fatal(err)
	}
	if status, body = fetch(t, r.url+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `{"name":"database/data2","status":"failing"}`) {
		t.Errorf("readyz is %d %s", status, body)
	}
	if status, _ = fetch(t, r.url+"/livez"); status != http.StatusOK {
		t.Errorf("livez is %d", status)
	}
}

func TestReady_FailsWhenANumberHasMovedAwayAndNotInMaintenance(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	if _, err := s.installation.Admin(t, "data1").Exec(t.Context(), `UPDATE number_gates SET state = 'closed' WHERE number = 3`); err != nil {
		t.Fatal(err)
	}
	if status, body := fetch(t, r.url+"/readyz"); status != http.StatusOK {
		t.Errorf("in maintenance, readyz is %d %s", status, body)
	}
	if _, err := s.installation.Admin(t, "data2").Exec(t.Context(), `INSERT INTO number_gates VALUES (3, 'open', 1, 1)`); err != nil {
		t.Fatal(err)
	}
	if status, body := fetch(t, r.url+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `{"name":"placement","status":"failing"}`) {
		t.Errorf("after the move, readyz is %d %s", status, body)
	}
}

// A request that waits in a database while the process is told to stop.
func TestDrain_ReadyzFailsFirstAndRequestsUnderWayFinish(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.spawn(t, "HOLDFAST_ENVIRONMENT=staging", "HOLDFAST_SECOND_OPERATOR_KEY=", "HOLDFAST_ISSUER=https://api.example", "HOLDFAST_DRAIN_SECONDS=20")
	client := connect(t, r, s.tenant(t, r, "acme").key)
	account, err := client.CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada"})
	if err != nil {
		t.Fatal(err)
	}

	database := s.installation.Admin(t, "data1")
	lock, err := database.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Rollback(context.Background())
	if _, err := lock.Exec(t.Context(), `LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := client.GetAccountWithResponse(context.Background(), account.JSON201.ID)
		answered <- err
	}()
	eventually(t, "the request waits for the lock", func() bool {
		var waiting int
		err := database.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'accounts'::regclass`).Scan(&waiting)
		return err == nil && waiting > 0
	})

	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	eventually(t, "readyz says draining", func() bool {
		status, body := fetch(t, r.url+"/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"draining"`)
	})
	if status, body := fetch(t, r.url+"/livez"); status != http.StatusOK {
		t.Errorf("livez in the drain: %d %s", status, body)
	}
	if _, err := s.operator(t, r).ListTenantsWithResponse(t.Context(), nil); err != nil {
		t.Errorf("a new request, before those who spread the load have looked: %v", err)
	}
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the request under way: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the process ended with %v\n%s", err, r.log)
	}
	if status, _ := fetch(t, r.url+"/livez"); status != 0 {
		t.Errorf("it still listens: %d", status)
	}
}

func TestKill_ARetryWithTheSameKeyFindsWhatTheDeadProcessMade(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	first := s.spawn(t)
	c := s.tenant(t, first, "acme")
	key := &holdfast.CreateAccountParams{IdempotencyKey: ptr("k1")}
	want := holdfast.NewAccount{Handle: "ada", Email: ptr("a@b.de")}
	made, err := connect(t, first, c.key).CreateAccountWithResponse(t.Context(), key, want)
	if err != nil {
		t.Fatal(err)
	}
	first.kill()

	second := s.spawn(t)
	client := connect(t, second, c.key)
	again, err := client.CreateAccountWithResponse(t.Context(), key, want)
	if err != nil {
		t.Fatal(err)
	}
	if again.Headers201.IdempotentReplayed == nil || !sameJSON(made.Body, again.Body) {
		t.Errorf("replayed %v\n%s\n%s", again.Headers201.IdempotentReplayed, made.Body, again.Body)
	}
	// I30, whatever time has passed.
	if _, err := client.CreateAccountWithResponse(t.Context(), key, holdfast.NewAccount{Handle: "eve"}); !isStatus(err, http.StatusUnprocessableEntity) {
		t.Errorf("another payload under the same key: %v", err)
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func isStatus(err error, status int) bool {
	var e *holdfast.Error
	return errors.As(err, &e) && e.Status == status
}

func TestPrivatePort_MetricsNameTemplatesAndNoTenant(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t)
	c := s.tenant(t, r, "acme-gmbh")
	made, err := connect(t, r, c.key).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{Handle: "ada-lovelace"})
	if err != nil {
		t.Fatal(err)
	}
	_, body := fetch(t, "http://"+r.privateAddress(t)+"/metrics")
	if !strings.Contains(body, `http_route="/v1/accounts"`) {
		t.Errorf("no request durations in\n%s", body)
	}
	for _, secret := range []string{c.id, made.JSON201.ID, "ada-lovelace", "acme-gmbh"} {
		if strings.Contains(body, secret) {
			t.Errorf("the metrics have %q", secret)
		}
	}
	if status, _ := fetch(t, r.url+"/metrics"); status != http.StatusNotFound {
		t.Errorf("the public port has /metrics: %d", status)
	}
}

func TestLog_HasIdsAndNothingPersonal(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t, "HOLDFAST_LOG_LEVEL=debug")
	c := s.tenant(t, r, "acme")
	made, err := connect(t, r, c.key).CreateAccountWithResponse(t.Context(), nil, holdfast.NewAccount{
		Handle: "ada-lovelace", Email: ptr("ada@example.com"), Attributes: json.RawMessage(`{"plan":"gold"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	id := made.HTTPResponse.Header.Get("X-Request-Id")
	eventually(t, "the log has the request", func() bool { return strings.Contains(r.log.String(), id) })
	log := r.log.String()
	if !strings.Contains(log, c.id) {
		t.Error("no line has the tenant's id")
	}
	for _, secret := range []string{"ada-lovelace", "ada@example.com", "gold", made.JSON201.EmailChange.Code, c.key, s.operatorKey, made.JSON201.ID} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestRevocation_ReachesTokensThatWereVerifiedBefore(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t)
	c := s.tenant(t, r, "acme")
	client := connect(t, r, c.key)
	if _, err := client.ListAccountsWithResponse(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	operator := s.operator(t, r)
	keys, err := operator.ListAPIKeysWithResponse(t.Context(), c.id, c.principal, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := operator.RevokeAPIKeyWithResponse(t.Context(), c.id, keys.JSON200.APIKeys[0].ID); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	eventually(t, "the key's tokens are refused", func() bool {
		_, err := client.ListAccountsWithResponse(t.Context(), nil)
		return isStatus(err, http.StatusUnauthorized)
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("that took %v", took)
	}
}

func TestSuspend_RefusesTheTenantAndResumeTakesItBack(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	c := s.tenant(t, r, "acme")
	client, operator := connect(t, r, c.key), s.operator(t, r)
	if _, err := client.ListAccountsWithResponse(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	suspended, err := operator.SuspendTenantWithResponse(t.Context(), c.id)
	if err != nil || suspended.JSON200.State != "suspended" {
		t.Fatalf("%v %s", err, suspended.Body)
	}
	if _, err := client.ListAccountsWithResponse(t.Context(), nil); !holdfast.IsCode(err, "tenant_suspended") {
		t.Errorf("while suspended: %v", err)
	}
	if _, err := connect(t, r, c.key).ListAccountsWithResponse(t.Context(), nil); !holdfast.IsCode(err, "tenant_suspended") {
		t.Errorf("a new token while suspended: %v", err)
	}
	if _, err := operator.ResumeTenantWithResponse(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the tenant is served again", func() bool {
		_, err := client.ListAccountsWithResponse(t.Context(), nil)
		return err == nil
	})
}
