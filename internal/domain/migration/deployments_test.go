package migration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// processes are an API and a worker on the same databases.
type processes struct {
	*moving
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	m := &moving{in: testkit.Databases(t, 2), faults: testkit.NewStoreFaults(t)}
	m.api, m.Service = m.process(t, postgres.RoleAPI, "build-2"), m.process(t, postgres.RoleWorker, "build-1")
	return &processes{m}
}

func (p *processes) live(t *testing.T) []Process {
	t.Helper()
	live, err := p.api.Deployments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return live
}

func (p *processes) report(t *testing.T, s *Service, of Process) {
	t.Helper()
	if err := s.Report(t.Context(), of); err != nil {
		t.Fatal(err)
	}
}

// silent has everybody have reported so much earlier.
func (p *processes) silent(t *testing.T, by string) {
	t.Helper()
	if _, err := p.in.Admin(t, "control").Exec(t.Context(), `UPDATE deployments SET reported_at = reported_at - $1::interval`, by); err != nil {
		t.Fatal(err)
	}
}

func TestDeployments_AreTheProcessesThatReportedWithinAMinute(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	worker, api := p.This(ProcessWorker), p.api.This(ProcessAPI)
	worker.StartedAt = worker.StartedAt.Add(-time.Hour)
	p.report(t, p.Service, worker)
	p.report(t, p.api, api)
	first := p.live(t)
	near := cmpopts.EquateApproxTime(5 * time.Second)
	if diff := cmp.Diff([]Process{api, worker}, first, near, cmpopts.IgnoreFields(Process{}, "ReportedAt")); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}

	p.silent(t, "59 seconds")
	if live := p.live(t); len(live) != 2 {
		t.Errorf("after 59 s %d are alive, want both", len(live))
	}
	p.report(t, p.Service, worker)
	p.silent(t, "2 seconds")
	live := p.live(t)
	if len(live) != 1 || live[0].ID != worker.ID {
		t.Errorf("alive are %v, want the worker that has reported again", live)
	}
	if len(live) == 1 && !live[0].StartedAt.Equal(first[1].StartedAt) {
		t.Errorf("it started at %v, and at %v by its first report", live[0].StartedAt, first[1].StartedAt)
	}
}

func TestReport_RemovesWhatHasBeenSilentForLong(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	p.report(t, p.api, p.api.This(ProcessAPI))
	p.silent(t, "9 minutes")
	p.report(t, p.Service, p.This(ProcessWorker))
	rows := func() (n int) {
		if err := p.in.Admin(t, "control").QueryRow(t.Context(), `SELECT count(*) FROM deployments`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := rows(); n != 2 {
		t.Errorf("%d rows are left, want both", n)
	}
	p.silent(t, "2 minutes")
	p.report(t, p.Service, p.This(ProcessWorker))
	if n := rows(); n != 2 {
		t.Errorf("%d rows are left, want those of the workers", n)
	}
}

func TestRunReports_BeginAtOnceAndEndWithTheProcess(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.RunReports(ctx, p.This(ProcessWorker))
	}()
	deadline := time.After(10 * time.Second)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for len(p.live(t)) == 0 {
		select {
		case <-deadline:
			t.Fatal("nothing was reported")
		case <-look.C:
		}
	}
	stop()
	<-done
	if live := p.live(t); len(live) != 0 {
		t.Errorf("behind the end %v are alive", live)
	}
}

func TestDemandFormats_NamesTheBuildsThatAreTooOld(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	p.report(t, p.api, p.api.This(ProcessAPI))
	if err := p.api.demandFormats(t.Context(), 2); err != nil {
		t.Errorf("all know the format: %v", err)
	}
	for _, build := range []string{"build-0", "build-00", "build-0"} {
		old := p.This(ProcessWorker)
		old.Build, old.Formats = build, []int16{1}
		p.report(t, p.Service, old)
	}
	err := p.api.demandFormats(t.Context(), 2)
	if domain.CodeOf(err) != "processes_too_old" || !strings.Contains(err.Error(), "3 can't read and write format 2: those of build-0, build-00.") {
		t.Errorf("beside old ones: %v", err)
	}
	if err := p.api.demandFormats(t.Context(), 1); err != nil {
		t.Errorf("all know the first format: %v", err)
	}
	p.silent(t, "61 seconds")
	if err := p.api.demandFormats(t.Context(), 2); err != nil {
		t.Errorf("the old ones are gone: %v", err)
	}
}

// Both roles find the databases' identities, and the same.
func TestRuntime_NamesEachDatabaseByWhatStays(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	api, err := p.api.Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	worker, err := p.Runtime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Databases, worker.Databases); diff != "" || api.Build != "build-2" || worker.Build != "build-1" {
		t.Errorf("builds %s and %s; databases (-api +worker):\n%s", api.Build, worker.Build, diff)
	}
	var numbers []string
	for _, db := range api.Databases {
		numbers = append(numbers, db.Name+"="+db.Numbers)
		if len(db.System) < 10 || db.OID == 0 {
			t.Errorf("%s is identified by %q and %d", db.Name, db.System, db.OID)
		}
	}
	if !slices.Equal(numbers, []string{"data1=0-31", "data2=32-63"}) {
		t.Errorf("the numbers are %v", numbers)
	}
	if api.Databases[0].OID == api.Databases[1].OID {
		t.Error("two databases have one identity")
	}
}
