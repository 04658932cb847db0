package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// beVictim makes the test's own binary a worker that begins a slice and doesn't come
// to its end. Its value is a victim.
const beVictim = "HOLDFAST_TEST_BE_VICTIM"

type victim struct {
	Databases postgres.Settings
	Run       migration.OpenWork
}

func TestMain(m *testing.M) {
	if text := os.Getenv(beVictim); text != "" {
		fmt.Println(work(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const atIt = "at it"

// work returns only for what went wrong.
func work(text string) error {
	var v victim
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	router, err := postgres.Open(context.Background(), v.Databases)
	if err != nil {
		return err
	}
	fake := &fakeMigrations{do: func(context.Context, migration.OpenWork, time.Time) (bool, error) {
		fmt.Println(atIt)
		select {}
	}}
	fake.begin(v.Run)
	runner, err := jobs.NewRunner(jobs.Options{
		Control: router.Control(), Databases: router.Databases(),
		Telemetry: &telemetry.Telemetry{
			Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Meters: metricnoop.NewMeterProvider(), Tracers: tracenoop.NewTracerProvider(),
		},
		Identity: &fakeIdentity{}, Leases: &fakeLeases{}, Records: &fakeRecords{}, Migrations: fake, Build: thisBuild, SweepEvery: time.Hour,
	})
	if err != nil {
		return err
	}
	if err := runner.Start(context.Background()); err != nil {
		return err
	}
	select {}
}

// The only worker there is, which leads, is killed in the middle of a slice. One that
// is started then goes on with the run: two minutes after the slice began at the
// latest, of which the first has gone by here.
func TestRun_WhoseWorkerIsKilledGoesOnWithinTwoMinutes(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	run := openRun(newTenant())
	settings := b.Settings(postgres.RoleWorker)
	settings.Tracer = nil
	text, err := json.Marshal(victim{settings, run})
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), beVictim+"="+string(text))
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	if line, err := bufio.NewReader(output).ReadString('\n'); strings.TrimSpace(line) != atIt {
		t.Fatalf("the worker says %q (%v)", line, err)
	}
	b.leader(t)
	if err := child.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	b.exec(t, `UPDATE river_job SET attempted_at = attempted_at - interval '1 minute' WHERE kind = 'migration_run'`)

	fake := &fakeMigrations{do: slicesOf(2)}
	fake.begin(run)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	awaitFor(t, time.Minute, "the run to go on", func() bool { return len(fake.asked()) > 0 })
	await(t, "the run to end", func() bool { return strings.Join(b.states(t, "migration_run"), " ") == "completed completed" })
	if diff := cmp.Diff([]migration.OpenWork{run, run}, fake.asked()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}
