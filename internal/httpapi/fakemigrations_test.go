package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// The fake's migrations are of the test's tenant: one that is stopped, and one that
// was only asked for.
var (
	migrator = domain.PrincipalID{0x0a, 15: 1}
	thePlan  = migration.Hash{0xaa, 31: 1}
	theStop  = migration.Stop{From: migration.Active, Category: migration.SourceDefect, Collection: "orders", Key: "a", Section: "items", NextStep: "Publish it anew."}

	stoppedMigration = migration.Migration{
		ID: domain.MigrationID{1}, Tenant: testTenant, Kind: migration.RecordBodies, State: migration.Stopped, Revision: 7,
		Collections: []string{"orders"}, PlanHash: thePlan, Former: []migration.Hash{{0xbb}}, Caps: &migration.DefaultCaps, Stop: &theStop,
		RequestedBy: domain.PrincipalID{5}, Requester: "shop", RequestedAt: verifiedAt, ChangedAt: verifiedAt,
	}
	requestedMigration = migration.Migration{
		ID: domain.MigrationID{2}, Tenant: testTenant, Kind: migration.Rehydrate, State: migration.Requested, Revision: 1,
		RequestedBy: migrator, Requester: "grace", RequestedAt: verifiedAt, ChangedAt: verifiedAt,
	}
	openMigrationRun = migration.Run{
		ID: domain.RunID{3}, Tenant: testTenant, Migration: stoppedMigration.ID, Build: "b1", AskedBy: "grace", StartedAt: verifiedAt, Deadline: verifiedAt.Add(migration.RunTime),
	}
	scrubReport = migration.Report{
		ID: domain.ReportID{4}, Tenant: testTenant, Migration: stoppedMigration.ID, Kind: migration.ScrubReport, PlanHash: thePlan, Build: "b1",
		Actor: migration.Actor{ID: migrator, Name: "grace"}, StartedAt: verifiedAt, Deadline: verifiedAt,
		Scrub: &migration.ScrubProgress{Budget: migration.ScrubBudget{Duration: time.Hour}},
	}
	recheckReport = migration.Report{
		ID: domain.ReportID{5}, Tenant: testTenant, Migration: stoppedMigration.ID, Kind: migration.RecheckReport, PlanHash: thePlan, Build: "b1",
		Actor: migration.Actor{ID: migrator, Name: "grace"}, StartedAt: verifiedAt, Deadline: verifiedAt, EndedAt: verifiedAt,
		Verdict: &migration.Verdict{Outcome: migration.VerdictIncomplete, State: migration.Drained}, Observed: &migration.VerificationReport{},
	}
)

// asked is what an act was asked for.
type asked struct {
	Act       string
	By        string // the caller's name
	Tenant    domain.TenantID
	Migration domain.MigrationID
	About     any
}

// fakeMigrations knows its migrations, plan and reports, answers acts with them or
// with err, and keeps what it was asked last.
type fakeMigrations struct {
	err error
	got asked
}

func (f *fakeMigrations) call(act string, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, about any) error {
	f.got = asked{act, scope.Name, tenant, id, about}
	return f.err
}

func (f *fakeMigrations) Ask(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, req migration.Request) (migration.Migration, bool, error) {
	return requestedMigration, req.Key == "replayed", f.call("ask", scope, tenant, domain.MigrationID{}, req)
}

func (f *fakeMigrations) Migration(_ context.Context, tenant domain.TenantID, id domain.MigrationID) (migration.Migration, error) {
	for _, m := range []migration.Migration{stoppedMigration, requestedMigration} {
		if m.Tenant == tenant && m.ID == id {
			return m, f.err
		}
	}
	return migration.Migration{}, domain.NotFound("migration_not_found", "There is none.")
}

func (f *fakeMigrations) Migrations(_ context.Context, tenant domain.TenantID, page tenancy.List[domain.MigrationID]) ([]migration.Migration, bool, error) {
	if err := f.call("list", tenancy.Scope{}, tenant, page.After, page.Limit); err != nil || tenant != testTenant {
		return nil, false, err
	}
	if page.After.IsZero() {
		return []migration.Migration{stoppedMigration}, true, nil
	}
	return []migration.Migration{requestedMigration}, false, nil
}

func (f *fakeMigrations) Transitions(context.Context, domain.TenantID, domain.MigrationID) ([]migration.Transition, error) {
	return []migration.Transition{
		{Revision: 1, To: migration.Requested, Act: "request", Actor: migration.Actor{ID: domain.PrincipalID{5}, Name: "shop"}, Note: json.RawMessage(`{}`), At: verifiedAt},
		{Revision: 7, From: migration.Active, To: migration.Stopped, Act: "stop", Actor: migration.Actor{Name: "holdfast"}, Note: json.RawMessage(`{"n":12345678901234567890}`), At: verifiedAt},
	}, f.err
}

func (f *fakeMigrations) Progress(_ context.Context, m migration.Migration) (migration.Progress, error) {
	p := migration.Progress{At: verifiedAt, Left: migration.Left{Whole: true}, Next: migration.NextNothing}
	if m.ID == stoppedMigration.ID {
		remaining := 1500 * time.Millisecond
		p.Total, p.Deferred, p.Remaining, p.Run = migration.Counters{Passes: 2, Moved: 8, Bytes: 80}, 1, &remaining, &openMigrationRun
		p.Pace60 = &migration.Pace{Records: 0.5, Bytes: 5}
		p.Reasons = []migration.Reason{{Code: migration.ReasonStopped, Detail: migration.SourceDefect}}
		p.Collections = []migration.CollectionProgress{{Checkpoint: migration.Checkpoint{Collection: "orders", PlanHash: thePlan, Held: true, Frontier: 10, ActivatedAt: verifiedAt, MovedAt: verifiedAt}}}
	}
	return p, f.err
}

func (f *fakeMigrations) Runs(context.Context, domain.TenantID, domain.MigrationID) ([]migration.Run, error) {
	ended := openMigrationRun
	ended.EndedAt, ended.WorkedAt, ended.Outcome = verifiedAt, verifiedAt, migration.OutcomeStopped
	return []migration.Run{ended}, f.err
}

func (f *fakeMigrations) Reports(context.Context, domain.TenantID, domain.MigrationID) ([]migration.Report, error) {
	seen := recheckReport
	seen.Observed = nil
	return []migration.Report{scrubReport, seen}, f.err
}

func (f *fakeMigrations) ReportOf(_ context.Context, _ domain.TenantID, _ domain.MigrationID, id domain.ReportID) (migration.Report, error) {
	if id != recheckReport.ID {
		return migration.Report{}, domain.NotFound("report_not_found", "There is none.")
	}
	return recheckReport, f.err
}

func (f *fakeMigrations) Preview(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, want migration.Preview) (migration.Migration, migration.Plan, error) {
	return stoppedMigration, f.plan(), f.call("preview", scope, tenant, id, want)
}

// plan has neither observations nor lists, as a program could make one.
func (f *fakeMigrations) plan() migration.Plan {
	return migration.Plan{Hash: thePlan, Text: `{"build":"b1"}`, Packet: migration.Packet{Type: migration.PacketType, Build: "b1"}, Previewer: "grace", PreviewedBy: migrator, PreviewedAt: verifiedAt, CountedAt: verifiedAt}
}

func (f *fakeMigrations) Plan(_ context.Context, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Plan, error) {
	if hash != thePlan {
		return migration.Plan{}, domain.NotFound("plan_not_found", "There is none.")
	}
	return f.plan(), f.call("plan", tenancy.Scope{}, tenant, id, hash)
}

func (f *fakeMigrations) Drift(_ context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Drift, error) {
	return []migration.Drift{{Field: "/build", Was: `"b1"`, Is: `"b2"`}}, f.call("drift", tenancy.Scope{}, tenant, id, nil)
}

func (f *fakeMigrations) Approve(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Migration, error) {
	return stoppedMigration, f.call("approve", scope, tenant, id, hash)
}

func (f *fakeMigrations) Activate(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Activation, error) {
	return migration.Activation{
		Migration: stoppedMigration, Collections: []migration.AcceptedCollection{{Name: "orders", Frontier: 10, AcceptedAt: verifiedAt}}, PointOfNoReturn: "This was it.",
	}, f.call("activate", scope, tenant, id, plan)
}

func (f *fakeMigrations) Run(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Run, error) {
	return openMigrationRun, f.call("run", scope, tenant, id, plan)
}

func (f *fakeMigrations) Pause(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error) {
	return stoppedMigration, f.call("pause", scope, tenant, id, plan)
}

func (f *fakeMigrations) Resume(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error) {
	return stoppedMigration, f.call("resume", scope, tenant, id, plan)
}

func (f *fakeMigrations) Abort(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error) {
	return requestedMigration, f.call("abort", scope, tenant, id, plan)
}

func (f *fakeMigrations) LowerCaps(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, caps migration.Caps) (migration.Migration, error) {
	return stoppedMigration, f.call("caps", scope, tenant, id, []any{plan, caps})
}

func (f *fakeMigrations) Close(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, decision string) (migration.Migration, error) {
	return stoppedMigration, f.call("close", scope, tenant, id, []any{plan, decision})
}

func (f *fakeMigrations) RequalifyPreview(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, previous, qualification migration.Hash) (migration.Envelope, error) {
	return theEnvelope, f.call("requalify preview", scope, tenant, id, []any{previous, qualification})
}

var theEnvelope = migration.Envelope{Type: migration.EnvelopeType, Previous: thePlan, NextHash: migration.Hash{0xcc}, Checkpoints: []migration.Standing{{Collection: "orders"}}}

func (f *fakeMigrations) Envelope(_ context.Context, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Envelope, error) {
	if known, err := theEnvelope.Hash(); err != nil || hash != known {
		return migration.Envelope{}, domain.NotFound("envelope_not_found", "There is none.")
	}
	return theEnvelope, f.call("envelope", tenancy.Scope{}, tenant, id, nil)
}

func (f *fakeMigrations) Requalify(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, envelope migration.Hash) (migration.Migration, error) {
	return stoppedMigration, f.call("requalify", scope, tenant, id, envelope)
}

func (f *fakeMigrations) BeginVerification(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, phase migration.ReportKind) (migration.Verification, error) {
	return migration.Verification{
		Report: scrubReport, Limits: migration.ReadLimits{PageRecords: 32, Points: 128, Attempts: 3, Request: 30 * time.Second, Phase: 10 * time.Minute, ResponseBytes: 16 << 20},
		Collections: []migration.ReadCollection{{Name: "orders", Sections: []string{"items"}}}, Of: 2, Token: tenancy.AccessToken{Token: "t", Type: "Bearer", ExpiresIn: 600, Scope: "record:read"},
	}, f.call("verify", scope, tenant, id, []any{plan, phase})
}

func (f *fakeMigrations) EndVerification(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, seen migration.VerificationReport) (migration.Verdict, error) {
	return *recheckReport.Verdict, f.call("end verification", scope, tenant, id, []any{report, seen})
}

func (f *fakeMigrations) BeginScrub(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, budget migration.ScrubBudget) (migration.Report, error) {
	return scrubReport, f.call("scrub", scope, tenant, id, []any{plan, budget})
}

var theDeferred = migration.Deferred{ID: "ZA", Collection: "orders", Key: "a", Section: "items", Reason: "length_mismatch", Attempts: 2, FirstAt: verifiedAt, LastAt: verifiedAt, NextStep: "Publish it anew."}

func (f *fakeMigrations) DeferredOf(_ context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Deferred, error) {
	return []migration.Deferred{theDeferred}, f.call("deferred", tenancy.Scope{}, tenant, id, nil)
}

func (f *fakeMigrations) RetryDeferred(_ context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, deferred migration.DeferredID) (migration.Deferred, error) {
	return theDeferred, f.call("retry", scope, tenant, id, deferred)
}

func (f *fakeMigrations) Deployments(context.Context) ([]migration.Process, error) {
	return []migration.Process{{ID: migration.ProcessID{6}, Kind: migration.ProcessWorker, Build: "b1", Formats: []int16{1, 2}, StartedAt: verifiedAt, ReportedAt: verifiedAt}}, f.err
}

func (f *fakeMigrations) Runtime(context.Context) (migration.Runtime, error) {
	return migration.Runtime{Build: "b1", Databases: []migration.Database{{Name: "data1", System: "7", OID: 5, Numbers: "0-63"}}}, f.err
}

var (
	theQualification = migration.Qualification{Type: migration.QualificationType, Build: "b1", StartedAt: verifiedAt, EndedAt: verifiedAt, Passed: true}
	theQualified     = migration.Qualified{Hash: migration.Hash{0xdd}, Build: "b1", Passed: true, At: verifiedAt}
)

func (f *fakeMigrations) Qualifications(_ context.Context, build string) ([]migration.Qualified, error) {
	return []migration.Qualified{theQualified}, f.call("qualifications", tenancy.Scope{}, domain.TenantID{}, domain.MigrationID{}, build)
}

func (f *fakeMigrations) Qualification(_ context.Context, hash migration.Hash) (migration.Qualification, error) {
	if hash != theQualified.Hash {
		return migration.Qualification{}, domain.NotFound("qualification_not_found", "There is none.")
	}
	return theQualification, f.err
}
