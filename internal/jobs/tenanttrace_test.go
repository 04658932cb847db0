package jobs_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

func TestTrace_ATenantsJobNamesItOnItsSpanAndInItsLines(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	run := openRun(newTenant())
	fake := &fakeMigrations{}
	fake.begin(run)
	b.tel.Log = telemetry.NewLogger(b.log, slog.LevelDebug)
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Migrations = fake })
	await(t, "the span of the work, with its tenant", func() bool {
		for _, span := range b.spans.Ended() {
			if span.Name() != "river.work/migration_run" {
				continue
			}
			for _, a := range span.Attributes() {
				if string(a.Key) == "holdfast.tenant_id" && a.Value.AsString() == run.Tenant.String() {
					return true
				}
			}
		}
		return false
	})
	for _, line := range strings.Split(b.log.String(), "\n") {
		if strings.Contains(line, `"job worked"`) && strings.Contains(line, `"job_kind":"migration_run"`) {
			if !strings.Contains(line, `"tenant_id":"`+run.Tenant.String()+`"`) {
				t.Errorf("the job's line doesn't name it: %s", line)
			}
			return
		}
	}
	t.Errorf("no line tells of the job:\n%s", b.log.String())
}
