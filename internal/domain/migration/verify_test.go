package migration

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// reads gives the API its tokens, and an operator whose key is a real one.
func (m *moving) reads(t testing.TB) (reader tenancy.Scope) {
	t.Helper()
	keys, err := tenancy.NewServerKeys(tenancy.ServerKey{ID: "k1", Secret: [32]byte([]byte(strings.Repeat("k1", 16)))})
	if err != nil {
		t.Fatal(err)
	}
	router := m.in.Router(t, postgres.RoleAPI)
	store := tenancy.NewStore(router.Control(), tenancy.NewGates(router), keys, time.Now)
	if m.api.tokens, err = tenancy.NewTokens(store, tenancy.TokenSettings{Issuer: "https://holdfast.test"}, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	key := tenancy.GenerateKey(time.Now())
	if _, err := store.Bootstrap(t.Context(), []tenancy.BootstrapKey{{Name: "reader", Key: key}}); err != nil {
		t.Fatal(err)
	}
	if err := m.api.tokens.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := key[:strings.Index(key[len("hf_"):], "_")+len("hf_")]
	token, err := m.api.tokens.Grant(t.Context(), tenancy.GrantRequest{GrantType: tenancy.GrantTypeClientCredentials, ClientID: id, ClientSecret: key})
	if err != nil {
		t.Fatal(err)
	}
	if reader, err = m.api.tokens.Authenticate(t.Context(), token.Token); err != nil {
		t.Fatal(err)
	}
	return reader
}

// look reads what a verification asks for, as the token allows it: a page of each
// section, the records that are named, and those that the pages show.
func (m *moving) look(t testing.TB, v Verification) VerificationReport {
	t.Helper()
	scope, err := m.api.tokens.Authenticate(t.Context(), v.Token.Token)
	if err != nil {
		t.Fatal(err)
	}
	report := VerificationReport{StartedAt: time.Now(), Limits: []string{}}
	names := v.Points
	known := map[RecordName]bool{}
	for _, name := range names {
		known[name] = true
	}
	for _, c := range v.Collections {
		for _, section := range c.Sections {
			page, err := m.api.records.Export(t.Context(), scope, c.Name, record.ExportRequest{Section: section, Limit: v.Limits.PageRecords, Bodies: true})
			if err != nil {
				t.Fatal(err)
			}
			read := PageRead{Collection: c.Name, Section: section, Outcome: ReadSeen, More: page.More}
			for _, e := range page.Records {
				read.Sections = append(read.Sections, PageSection{e.Key, e.Revision, report.seen(&e.Section)})
				if name := (RecordName{c.Name, e.Key}); !known[name] && len(names) < v.Limits.Points {
					known[name], names = true, append(names, name)
				}
			}
			page.Close()
			report.Pages = append(report.Pages, read)
		}
	}
	for _, name := range names {
		report.Points = append(report.Points, m.readPoint(t, scope, name, &report))
	}
	report.EndedAt = time.Now()
	return report
}

func (m *moving) readPoint(t testing.TB, scope tenancy.Scope, name RecordName, report *VerificationReport) PointRead {
	t.Helper()
	p := PointRead{Collection: name.Collection, Key: name.Key, Outcome: ReadSeen}
	found, err := m.api.records.RecordWithBodies(t.Context(), scope, name.Collection, name.Key)
	switch domain.CodeOf(err) {
	case "record_not_found":
		p.Outcome = ReadAbsent
		return p
	case "body_unavailable":
		p.Outcome = ReadUnavailable
		return p
	}
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	p.Revision = found.Revision
	for _, s := range found.Sections {
		p.Sections = append(p.Sections, PointSection{s.Name, report.seen(&s)})
	}
	return p
}

func (v *VerificationReport) seen(s *record.Section) SectionRead {
	r := SectionRead{Sequence: s.Sequence, Live: s.Live, Length: s.Length}
	if s.Live {
		digest := record.DigestOf(s.Body)
		r.Digest = &digest
		v.Bodies++
		v.Bytes += s.Length
	}
	return r
}

func (m *moving) begin(t testing.TB, by tenancy.Scope, of Migration, phase ReportKind) Verification {
	t.Helper()
	v, err := m.api.BeginVerification(t.Context(), by, of.Tenant, of.ID, of.PlanHash, phase)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (m *moving) end(t testing.TB, by tenancy.Scope, v Verification, seen VerificationReport) Verdict {
	t.Helper()
	verdict, err := m.api.EndVerification(t.Context(), by, v.Report.Tenant, v.Report.Migration, v.Report.ID, seen)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func TestVerification_BaselineAndRecheckCarryAMigrationToItsClose(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	reader := m.reads(t)
	m.fill(t, "orders", 110)
	m.fill(t, "invoices", 9)
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	m.refused(t, "migration_state", shown.ID, func(ctx context.Context) error {
		_, err := m.api.BeginVerification(ctx, reader, shown.Tenant, shown.ID, plan.Hash, RecheckReport)
		return err
	})
	m.refused(t, "plan_hash_differs", shown.ID, func(ctx context.Context) error {
		_, err := m.api.BeginVerification(ctx, reader, shown.Tenant, shown.ID, Hash{7}, BaselineReport)
		return err
	})
	approved, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash)
	if err != nil {
		t.Fatal(err)
	}

	v := m.begin(t, reader, approved, BaselineReport)
	if len(v.Collections) != 2 || len(v.Points) != 0 || v.Limits != readLimits || v.Of != 2 {
		t.Errorf("the baseline is to read %+v", v)
	}
	if scope, err := m.api.tokens.Authenticate(t.Context(), v.Token.Token); err != nil || scope.Tenant != m.scope.Tenant ||
		!cmp.Equal(scope.Scopes, []string{tenancy.RecordRead}) || scope.Name != "verification of migration "+shown.ID.String()+" by operator reader" {
		t.Errorf("it reads as %+v, %v", scope, err)
	}
	seen := m.look(t, v)
	verdict := m.end(t, reader, v, seen)
	if verdict.Outcome != VerdictPassed || verdict.Coverage.Pages != 8 || verdict.Coverage.Records <= namedPoints || verdict.State != Approved {
		t.Errorf("the baseline came to %+v", verdict)
	}
	if diff := cmp.Diff(verdict, m.end(t, reader, v, seen)); diff != "" {
		t.Errorf("the same report again has another verdict\n%s", diff)
	}
	other := seen
	other.Requests++
	m.refused(t, "report_ended", shown.ID, func(ctx context.Context) error {
		_, err := m.api.EndVerification(ctx, reader, shown.Tenant, shown.ID, v.Report.ID, other)
		return err
	})

	// The approval is still good: nothing was changed by looking.
	a, err := m.api.Activate(t.Context(), planner, approved.Tenant, approved.ID, approved.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	m.run(t, a.Migration)
	m.publish(t, "orders", record.Publication{
		Key: "key-0000", OperationID: "since", Expect: record.Expectation{Revision: 1}, Bodies: map[string][]byte{"items": []byte("since")},
	})
	drained := m.now(t, shown.ID)
	m.refused(t, "recheck_missing", shown.ID, func(ctx context.Context) error {
		return m.api.control.ControlRead(ctx, shown.Tenant, func(tx pgx.Tx) error { return m.api.demandReportTx(ctx, tx, &drained, RecheckReport) })
	})
	v = m.begin(t, reader, drained, RecheckReport)
	if len(v.Points) != namedPoints {
		t.Errorf("the recheck is to read %d of the records that the baseline named", len(v.Points))
	}
	verdict = m.end(t, reader, v, m.look(t, v))
	if verdict.Outcome != VerdictPassed || verdict.State != Verified || verdict.Coverage.Compared < 64 || verdict.Coverage.Newer != 1 {
		t.Errorf("the recheck came to %+v", verdict)
	}
	if len(verdict.Newer) != 1 || verdict.Newer[0].Key != "key-0000" || verdict.Newer[0].Reason != "published_since" {
		t.Errorf("newer are %+v", verdict.Newer)
	}
	verified := m.now(t, shown.ID)
	if closed, err := m.api.Close(t.Context(), planner, verified.Tenant, verified.ID, verified.PlanHash, "all is well"); err != nil || closed.State != Closed {
		t.Errorf("closed = %+v, %v", closed, err)
	}
	wantActs(t, m, shown.ID, "request", "preview", "approve", "verify", "verify", "activate", "activate", "drain", "verify", "verify", "close")
	reports, err := m.api.Reports(t.Context(), shown.Tenant, shown.ID)
	if err != nil || len(reports) != 2 || reports[0].Kind != RecheckReport || !reports[0].Passed || reports[0].Observed != nil || reports[1].Verdict.Outcome != VerdictPassed {
		t.Errorf("reports = %+v, %v", reports, err)
	}
	one, err := m.api.ReportOf(t.Context(), shown.Tenant, shown.ID, reports[1].ID)
	if err != nil || one.Observed == nil || len(one.Observed.Pages) != 8 {
		t.Errorf("the baseline = %+v, %v", one, err)
	}
}

func TestRecheck_StopsAMigrationWhereWhatIsSeenCannotBe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sql    string
		reason string
	}{
		"another digest at the same revision": {
			`UPDATE sections_in_store s SET digest = o.digest, length = o.length FROM sections_in_store o
			  WHERE s.item_key = 'key-0005' AND s.section = 'items' AND o.item_key = 'key-0006' AND o.section = 'items'`, ChangedInPlace,
		},
		"a record that has gone": {
			`WITH gone AS (DELETE FROM records WHERE item_key = 'key-0005' RETURNING item_key),
			      feed AS (DELETE FROM export_entries WHERE item_key = 'key-0005' RETURNING item_key)
			 DELETE FROM sections_in_store WHERE item_key = 'key-0005'`, RecordVanished,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t)
			reader := m.reads(t)
			m.fill(t, "orders", 10)
			shown, plan := m.previewed(t, m.ask(t, RecordBodies))
			v := m.begin(t, reader, shown, BaselineReport)
			m.end(t, reader, v, m.look(t, v))
			if _, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash); err != nil {
				t.Fatal(err)
			}
			a, err := m.api.Activate(t.Context(), planner, shown.Tenant, shown.ID, plan.Hash)
			if err != nil {
				t.Fatal(err)
			}
			m.run(t, a.Migration)
			for _, db := range m.router.Databases() {
				if _, err := m.admin[db.Name].Exec(t.Context(), test.sql); err != nil {
					t.Fatal(err)
				}
			}
			v = m.begin(t, reader, m.now(t, shown.ID), RecheckReport)
			verdict := m.end(t, reader, v, m.look(t, v))
			if verdict.Outcome != VerdictFailed || verdict.Wrong == 0 || verdict.Findings[0].Reason != test.reason || verdict.Findings[0].Key != "key-0005" {
				t.Errorf("the recheck came to %+v", verdict)
			}
			now := m.now(t, shown.ID)
			if now.State != Stopped || now.Stop.Category != VerificationFailed || now.Stop.Key != "key-0005" || now.Stop.From != Drained {
				t.Errorf("the migration is %s, %+v", now.State, now.Stop)
			}
			if held := m.counted(t, `SELECT count(*) FROM migration_checkpoints WHERE held`); held != 1 {
				t.Errorf("%d checkpoints are held", held)
			}
		})
	}
}

// A recheck that reaches a limit keeps the baseline and the checkpoint.
func TestRecheck_ThatReachesALimitChangesNothing_AndSaysWhatItCovered(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	reader := m.reads(t)
	m.fill(t, "orders", 10)
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	v := m.begin(t, reader, shown, BaselineReport)
	m.end(t, reader, v, m.look(t, v))
	if _, err := m.api.Approve(t.Context(), approver, shown.Tenant, shown.ID, plan.Hash); err != nil {
		t.Fatal(err)
	}
	a, err := m.api.Activate(t.Context(), planner, shown.Tenant, shown.ID, plan.Hash)
	if err != nil {
		t.Fatal(err)
	}
	m.run(t, a.Migration)
	drained := m.now(t, shown.ID)
	v = m.begin(t, reader, drained, RecheckReport)
	seen := m.look(t, v)
	seen.Limits = []string{LimitPhase}
	seen.Points = seen.Points[:3]
	seen.Pages[1].Outcome, seen.Pages[1].Sections = ReadUnanswered, nil
	verdict := m.end(t, reader, v, seen)
	if verdict.Outcome != VerdictIncomplete || verdict.Wrong != 0 || len(verdict.Missing) == 0 || verdict.Coverage.Pages != 3 || verdict.Coverage.OfPages != 4 {
		t.Errorf("the recheck came to %+v", verdict)
	}
	if now := m.now(t, shown.ID); now.State != Drained {
		t.Errorf("the migration is %s", now.State)
	}
	if held := m.counted(t, `SELECT count(*) FROM migration_checkpoints WHERE drained_at IS NOT NULL`); held != 1 {
		t.Errorf("%d checkpoints are drained", held)
	}
	v = m.begin(t, reader, m.now(t, shown.ID), RecheckReport)
	if verdict := m.end(t, reader, v, m.look(t, v)); verdict.Outcome != VerdictPassed {
		t.Errorf("again it came to %+v", verdict)
	}
}

func TestVerification_IsOfThePlansBuild_AndEndedByWhoBeganIt(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	reader := m.reads(t)
	m.fill(t, "orders", 3)
	shown, plan := m.previewed(t, m.ask(t, RecordBodies))
	v := m.begin(t, reader, shown, BaselineReport)
	seen := m.look(t, v)
	m.refused(t, "report_not_yours", shown.ID, func(ctx context.Context) error {
		_, err := m.api.EndVerification(ctx, planner, shown.Tenant, shown.ID, v.Report.ID, seen)
		return err
	})
	wide := seen
	wide.Pages = append(wide.Pages, PageRead{Collection: "others", Section: "items", Outcome: ReadSeen})
	m.refused(t, "report_invalid", shown.ID, func(ctx context.Context) error {
		_, err := m.api.EndVerification(ctx, reader, shown.Tenant, shown.ID, v.Report.ID, wide)
		return err
	})
	newer := m.process(t, postgres.RoleAPI, "build-2")
	if err := newer.Report(t.Context(), newer.This(ProcessAPI)); err != nil {
		t.Fatal(err)
	}
	m.refused(t, "runtime_differs", shown.ID, func(ctx context.Context) error {
		_, err := m.api.BeginVerification(ctx, reader, shown.Tenant, shown.ID, plan.Hash, BaselineReport)
		return err
	})
	verdict := m.end(t, reader, v, seen)
	if verdict.Outcome != VerdictIncomplete || verdict.Missing[0].Reason != RuntimeDiffers {
		t.Errorf("with another build at its end it came to %+v", verdict)
	}
}
