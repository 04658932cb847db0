package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// readLimits are those of every phase; a page may be shorter.
var readLimits = ReadLimits{
	PageSections: 32, Points: 128, Attempts: 3, Request: 30 * time.Second, Phase: 10 * time.Minute, ResponseBytes: 16 << 20,
}

const (
	// maxPages and maxPaged bound a report: with more pages, each is shorter.
	maxPages = 4096
	maxPaged = 8192 // sections on all pages
	// namedPoints are read again of what the baseline named. The rest of the points are
	// for what the pages show.
	namedPoints = 64
	// lateReport is for a report that is on its way when the phase is over.
	lateReport = time.Minute
)

var (
	errPhase = domain.Invalid("phase_unknown", "A verification is a baseline or a recheck.").At("/phase")

	// verifiable are the states in which a phase is begun and ended.
	verifiable = map[ReportKind][]State{
		BaselineReport: {Previewed, Approved},
		RecheckReport:  {Drained, Verified},
	}
)

// reading is what a phase was to read, and what was so when it began.
type reading struct {
	Collections []ReadCollection `json:"collections"`
	Points      []RecordName     `json:"points"`
	Of          int              `json:"of_collections"`
	PageSize    int              `json:"page_sections"`
	Baseline    *domain.ReportID `json:"baseline,omitempty"`
	Before      Runtime          `json:"before"`
}

// BeginVerification begins the reading of a phase: a baseline before the activation,
// a recheck before closing. It records who reads, and gives that operator what to
// read and a token to do it with.
//
// Errors: invalid phase_unknown; forbidden insufficient_scope; not found
// migration_not_found; conflict plan_hash_differs, migration_state,
// baseline_missing, runtime_differs, migration_moved; unavailable.
func (s *Service) BeginVerification(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash, phase ReportKind) (Verification, error) {
	states, known := verifiable[phase]
	if !known {
		return Verification{}, errPhase
	}
	m, p, err := s.standing(ctx, tenant, id, plan)
	if err != nil {
		return Verification{}, err
	}
	if !slices.Contains(states, m.State) {
		return Verification{}, errState(m.State)
	}
	now, differs, err := s.compareRuntime(ctx, &p.Packet)
	switch {
	case err != nil:
		return Verification{}, err
	case differs != "":
		return Verification{}, errRuntime.With("field", differs)
	}
	r := reading{Before: now}
	if err := s.chooseCollections(ctx, &m, &r); err != nil {
		return Verification{}, err
	}
	var report Report
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if phase == RecheckReport {
			if err := r.follow(ctx, tx, &m); err != nil {
				return err
			}
		}
		if report, err = beginReportTx(ctx, tx, &m, phase, p.Packet.Build, actorOf(scope), readLimits.Phase, r); err != nil {
			return err
		}
		m, err = noteTx(ctx, tx, &m, "verify", actorOf(scope), verifyNote{phase, report.ID, ""})
		return err
	})
	if err != nil {
		return Verification{}, err
	}
	// Recorded first: a crash here leaves a report that nobody ends, and no token.
	token, err := s.tokens.ReadingToken(ctx, scope, tenant, fmt.Sprintf("verification of migration %s by operator %s", id, scope.Name))
	if err != nil {
		return Verification{}, err
	}
	limits := readLimits
	limits.PageSections = r.PageSize
	return Verification{
		Report: report, Limits: limits, Collections: r.Collections, Points: r.Points, Of: r.Of,
		Expected: now, Token: token,
	}, nil
}

type verifyNote struct {
	Phase   ReportKind      `json:"phase"`
	Report  domain.ReportID `json:"report_id"`
	Outcome string          `json:"outcome,omitempty"`
}

// chooseCollections takes the migration's collections, up to so many pages.
func (s *Service) chooseCollections(ctx context.Context, m *Migration, r *reading) error {
	all, err := s.covered(ctx, m)
	if err != nil {
		return err
	}
	r.Of = len(all)
	pages := 0
	for _, c := range all {
		sections := c.Profile.Sections()
		if pages+len(sections) > maxPages {
			break
		}
		pages += len(sections)
		r.Collections = append(r.Collections, ReadCollection{c.Name, sections})
	}
	r.PageSize = readLimits.PageSections
	if pages > 0 {
		r.PageSize = min(r.PageSize, max(maxPaged/pages, 1))
	}
	return nil
}

// follow has a recheck read what its baseline has read: the sections whose pages it
// has, and records that it named, spread evenly over all of them.
func (r *reading) follow(ctx context.Context, tx pgx.Tx, m *Migration) error {
	baseline, err := passedReportTx(ctx, tx, m, BaselineReport)
	if err != nil {
		return err
	}
	was, err := baseline.observed()
	if err != nil {
		return err
	}
	r.Baseline = &baseline.ID
	read := map[RecordName]bool{} // collection and section
	for _, page := range was.Pages {
		read[RecordName{page.Collection, page.Section}] = page.Outcome == ReadSeen
	}
	var kept []ReadCollection
	for _, c := range r.Collections {
		c.Sections = slices.DeleteFunc(slices.Clone(c.Sections), func(section string) bool { return !read[RecordName{c.Name, section}] })
		if len(c.Sections) > 0 {
			kept = append(kept, c)
		}
	}
	r.Collections = kept
	r.Points = spread(was.records(), namedPoints)
	return nil
}

// spread takes up to n evenly.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// judged is a report with what became of it, as it is kept.
type judged struct {
	Hash     Hash               `json:"observed_hash"`
	Observed VerificationReport `json:"observed"`
	Verdict  Verdict            `json:"verdict"`
	After    Runtime            `json:"after"`
}

func (r *Report) observed() (*VerificationReport, error) {
	var kept judged
	err := json.Unmarshal(r.outcome, &kept)
	return &kept.Observed, err
}

var (
	errRuntime = domain.Conflict("runtime_differs",
		"The build, a database or the bucket isn't the one that the plan names. Nothing was changed. Look at the deployments, and at the plan's drift.")
	errEnded       = domain.Conflict("report_ended", "The verification has ended, with another report. Begin another.")
	errOverdue     = domain.Conflict("report_overdue", "The verification's time is over. Nothing was changed. Begin another.")
	errOtherReader = domain.Forbidden("report_not_yours", "Another operator has begun the verification, and ends it.")
)

const sqlEndReport = `
UPDATE migration_reports r SET passed = $4, report = $5, ended_at = clock_timestamp()
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.report_id = $3 AND r.ended_at IS NULL`

// EndVerification judges what a reader saw. A recheck that passes verifies the
// migration; one that finds what can't be so stops it. The same report again has the
// same verdict.
//
// Errors: invalid report_invalid; forbidden report_not_yours; not found
// migration_not_found, report_not_found; conflict report_ended, report_overdue,
// plan_hash_differs, migration_state, migration_moved; unavailable.
func (s *Service) EndVerification(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, seen VerificationReport) (Verdict, error) {
	hash, err := hashOf(seen)
	if err != nil {
		return Verdict{}, err
	}
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return Verdict{}, err
	}
	p, err := s.Plan(ctx, tenant, id, m.PlanHash)
	if err != nil {
		return Verdict{}, err
	}
	after, differs, err := s.compareRuntime(ctx, &p.Packet)
	if err != nil {
		return Verdict{}, err
	}
	var verdict Verdict
	before := m
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		r, err := reportTx(ctx, tx, sqlLockReport, tenant, id, report)
		if err != nil {
			return err
		}
		again, err := r.repeated(hash)
		if err != nil || again != nil {
			if again != nil {
				verdict = *again
			}
			return err
		}
		if err := r.demandOpen(ctx, tx, scope, &m); err != nil {
			return err
		}
		if verdict, err = r.judge(ctx, tx, &m, &seen, differs); err != nil {
			return err
		}
		if m, err = concludeTx(ctx, tx, &m, &r, &verdict, actorOf(scope)); err != nil {
			return err
		}
		verdict.State = m.State
		_, err = tx.Exec(ctx, sqlEndReport, tenant, id, report, verdict.Outcome == VerdictPassed, jsonOf(&judged{hash, seen, verdict, after}))
		return err
	})
	if err != nil {
		return Verdict{}, err
	}
	if m.State == Stopped && before.State != Stopped {
		err = s.hold(ctx, &m)
	}
	return verdict, err
}

// repeated gives the verdict of a report that has ended by what is sent now.
func (r *Report) repeated(hash Hash) (*Verdict, error) {
	switch {
	case r.Kind == ScrubReport:
		return nil, errNoReport
	case r.EndedAt.IsZero():
		return nil, nil
	}
	var kept judged
	if err := json.Unmarshal(r.outcome, &kept); err != nil {
		return nil, err
	}
	if kept.Hash != hash {
		return nil, errEnded
	}
	return &kept.Verdict, nil
}

// demandOpen refuses a report that can't be ended now.
func (r *Report) demandOpen(ctx context.Context, tx pgx.Tx, scope tenancy.Scope, m *Migration) error {
	var overdue bool
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp() > $1::timestamptz + $2::interval`, r.Deadline, lateReport).Scan(&overdue); err != nil {
		return err
	}
	switch {
	case r.Actor.ID != scope.Principal:
		return errOtherReader
	case r.PlanHash != m.PlanHash:
		return errOtherHash
	case !slices.Contains(verifiable[r.Kind], m.State):
		return errState(m.State)
	case overdue:
		return errOverdue
	}
	return nil
}

// judge holds what was seen to what was to be read, and to the baseline.
func (r *Report) judge(ctx context.Context, tx pgx.Tx, m *Migration, seen *VerificationReport, differs string) (Verdict, error) {
	var asked reading
	if err := json.Unmarshal(r.progress, &asked); err != nil {
		return Verdict{}, err
	}
	if err := seen.check(&asked); err != nil {
		return Verdict{}, err
	}
	var was *VerificationReport
	if asked.Baseline != nil {
		baseline, err := reportTx(ctx, tx, sqlOneReport, m.Tenant, m.ID, *asked.Baseline)
		if err != nil {
			return Verdict{}, err
		}
		if was, err = baseline.observed(); err != nil {
			return Verdict{}, err
		}
	}
	return judge(r.Kind, &asked, was, seen, differs), nil
}

// concludeTx makes the transition that a verdict comes to.
func concludeTx(ctx context.Context, tx pgx.Tx, m *Migration, r *Report, v *Verdict, by Actor) (Migration, error) {
	note := verifyNote{r.Kind, r.ID, v.Outcome}
	switch {
	case r.Kind == RecheckReport && v.Outcome == VerdictFailed:
		first := v.Findings[0]
		return transitTx(ctx, tx, m, step{act: "verify", to: Stopped, by: by, note: note, stop: &Stop{
			From: Drained, Category: VerificationFailed, Collection: first.Collection, Key: first.Key, Section: first.Section,
			NextStep: nextSteps[VerificationFailed],
		}})
	case r.Kind == RecheckReport && v.Outcome == VerdictPassed && m.State == Drained:
		return transitTx(ctx, tx, m, step{act: "verify", to: Verified, by: by, note: note})
	}
	return noteTx(ctx, tx, m, "verify", by, note)
}

// compareRuntime tells what this process works with, and the first thing that isn't
// as the plan says; "" for none. Every live process of the API must be of the plan's
// build, since any of them may answer the reader.
func (s *Service) compareRuntime(ctx context.Context, plan *Packet) (now Runtime, differs string, err error) {
	if now, err = s.Runtime(ctx); err != nil {
		return now, "", err
	}
	live, err := s.Deployments(ctx)
	if err != nil {
		return now, "", err
	}
	for _, p := range live {
		if p.Kind == ProcessAPI && p.Build != plan.Build {
			return now, "build", nil
		}
	}
	here := slices.SortedFunc(slices.Values(now.Databases), func(a, b Database) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case now.Build != plan.Build:
		differs = "build"
	case !slices.Equal(here, plan.Databases):
		differs = "databases"
	case now.Store != plan.Store:
		differs = "store"
	}
	return now, differs, nil
}
