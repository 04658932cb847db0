package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// beWorker makes the test's own binary a worker.
const beWorker = "HOLDFAST_TEST_BE_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(beWorker) != "" {
		main()
	}
	os.Exit(m.Run())
}

// environ is a worker's on an installation, in development.
func environ(in *testkit.Installation) []string {
	return append(in.Environ(), "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0", "HOLDFAST_POOL_SIZE=4",
		"HOLDFAST_SERVER_KEYS=k1:"+strings.Repeat("5e", 32))
}

// process is a worker in a process of its own.
type process struct {
	command *exec.Cmd
	lines   chan line // of its log; closed at its end
}

type line struct {
	Level, Msg, Address, Error string
	Databases                  int
}

func startProcess(t *testing.T, environ []string) *process {
	t.Helper()
	p := &process{command: exec.Command(os.Args[0]), lines: make(chan line, 1000)}
	p.command.Env = append(environ, beWorker+"=1")
	output, err := p.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.command.Process.Kill()
		p.command.Wait()
	})
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			var l line
			if json.Unmarshal(scanner.Bytes(), &l) != nil {
				l = line{Msg: scanner.Text()}
			}
			p.lines <- l
		}
	}()
	return p
}

// passing tells an error that River gets over by itself: a leader that can't
// resign within a few seconds tries again, and in the end its term runs out.
func passing(l line) bool { return strings.Contains(l.Msg, "Error attempting to resign") }

// await gives the line of a message.
func (p *process) await(t *testing.T, msg string) line {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				t.Fatalf("the worker ended without saying %q", msg)
			}
			if l.Level == "ERROR" && !passing(l) {
				t.Errorf("the worker says %+v", l)
			}
			if l.Msg == msg {
				return l
			}
		case <-timeout:
			t.Fatalf("the worker doesn't say %q", msg)
		}
	}
}

// exit waits for the end and gives the exit code; -1 after a kill.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	for range p.lines {
	}
	p.command.Wait()
	return p.command.ProcessState.ExitCode()
}

func awaitCount(t *testing.T, in *testkit.Installation, database, sql string, least int) {
	t.Helper()
	pool := in.Admin(t, database)
	deadline := time.After(2 * time.Minute)
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for count := 0; count < least; {
		if err := pool.QueryRow(context.Background(), sql).Scan(&count); err != nil {
			t.Fatal(err)
		}
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %d, have %d: %s", least, count, sql)
		case <-look.C:
		}
	}
}

const completedJobs = `SELECT count(*) FROM river_job WHERE state = 'completed'`

func TestWorker_SweepsEveryDatabaseAndStopsOnASignal(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 3)
	p := startProcess(t, append(environ(in), testkit.BodiesEnviron(testkit.BodyStore(t))...))
	ready := p.await(t, "ready")
	if ready.Databases != 3 {
		t.Errorf("the worker says %+v, want three databases", ready)
	}
	for _, kind := range []string{"identity_sweep", "identity_cleanup", "record_snapshot", "record_cleanup", "record_objects"} {
		awaitCount(t, in, "control", completedJobs+` AND kind = '`+kind+`'`, 3)
	}
	awaitCount(t, in, "control", completedJobs+` AND kind = 'migration_watch'`, 1)
	awaitCount(t, in, "control", `SELECT count(*) FROM deployments WHERE process = 'worker' AND build <> '' AND formats = '{1,2}'`, 1)
	for _, database := range []string{"data1", "data2", "data3"} {
		// One row a number and family for the operations, and one for the page of claims.
		awaitCount(t, in, database, `SELECT count(*) FROM sweeps WHERE kind IN ('operations', 'claims') AND passes > 0`, 2*21+1)
		// And one a number for each task of the cleanup.
		awaitCount(t, in, database, `SELECT count(*) FROM sweeps WHERE kind NOT IN ('operations', 'claims') AND passes > 0`, 21*10)
		awaitCount(t, in, database, `SELECT count(*) FROM record_sweeps WHERE passes > 0`, 21*3)
		awaitCount(t, in, database, `SELECT count(*) FROM object_sweeps WHERE passes > 0`, 21)
	}

	response, err := http.Get("http://" + ready.Address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"messaging_process_duration_seconds_bucket", "db_client_operation_duration_seconds_bucket", "holdfast_sweep_visited_total",
		"holdfast_jobs_depth", "holdfast_jobs_leader", "holdfast_record_unreferenced_objects", "holdfast_record_unreferenced_bytes", "holdfast_bodies_concurrency_limit", `service_name="holdfast-worker"`,
	} {
		if !strings.Contains(string(metrics), name) {
			t.Errorf("the metrics lack %s", name)
		}
	}

	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.await(t, "stopped")
	if code := p.exit(t); code != exitOK {
		t.Errorf("the exit code is %d", code)
	}
	var running, reported int
	err = in.Admin(t, "control").QueryRow(t.Context(),
		`SELECT (SELECT count(*) FROM river_job WHERE state = 'running'), (SELECT count(*) FROM deployments)`).Scan(&running, &reported)
	if err != nil || running != 0 || reported != 0 {
		t.Errorf("%d jobs are left running, and %d processes count as alive (%v)", running, reported, err)
	}
}

func TestWorker_WhenOneIsKilledAnotherGoesOn(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	first := startProcess(t, environ(in))
	first.await(t, "ready")
	awaitCount(t, in, "control", `SELECT count(*) FROM river_leader`, 1)
	second := startProcess(t, environ(in))
	second.await(t, "ready")
	awaitCount(t, in, "control", completedJobs, 1)

	if err := first.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.exit(t)
	var before int
	if err := in.Admin(t, "control").QueryRow(t.Context(), completedJobs).Scan(&before); err != nil {
		t.Fatal(err)
	}
	awaitCount(t, in, "control", completedJobs, before+2)
	second.command.Process.Signal(syscall.SIGTERM)
	if code := second.exit(t); code != exitOK {
		t.Errorf("the survivor's exit code is %d", code)
	}
}

func TestWorker_RefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ database, sql, want string }{
		{"control", `DELETE FROM goose_control WHERE version_id = 2`, "run holdfast schema up"},
		{"data1", `INSERT INTO goose_data (version_id, is_applied) VALUES (99999, true)`, "newer than this build"},
		{"control", `DELETE FROM river_migration WHERE version = 6`, "run holdfast schema up"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			t.Parallel()
			in := testkit.Databases(t, 1)
			if _, err := in.Admin(t, c.database).Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			code := run(t.Context(), environ(in), io.Discard, &log)
			if code != exitFailed || !strings.Contains(log.String(), c.want) {
				t.Errorf("the exit code is %d, and the log is %s", code, log.String())
			}
		})
	}
}

func TestWorker_RefusesAPlacementThatTheDatabasesDeny(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	data := in.Settings(postgres.RoleWorker).Data
	for name, change := range map[string]string{
		"another placement": "HOLDFAST_PLACEMENT=data1=32-63 data2=0-31",
		"swapped databases": "HOLDFAST_DATA_URLS=data1=" + data[1].URL + " data2=" + data[0].URL,
	} {
		var log strings.Builder
		code := run(t.Context(), append(environ(in), change), io.Discard, &log)
		if code != exitFailed || !strings.Contains(log.String(), "open on data2, and placed on data1: the numbers") {
			t.Errorf("%s: the exit code is %d, and the log is %s", name, code, log.String())
		}
	}
}

func TestWorker_TellsEveryProblemOfItsConfiguration(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	code := run(t.Context(), []string{"HOLDFAST_LOG_LEVEL=loud"}, io.Discard, &log)
	for _, name := range []string{"HOLDFAST_LOG_LEVEL", "HOLDFAST_CONTROL_URL", "HOLDFAST_WORKER_PASSWORD"} {
		if !strings.Contains(log.String(), name) {
			t.Errorf("%s is not told of: %s", name, log.String())
		}
	}
	if code != exitSetting {
		t.Errorf("the exit code is %d", code)
	}
}
