package migration

import (
	"context"
	"errors"
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
	PageRecords: 32, Points: 128, Attempts: 3, Request: 30 * time.Second, Phase: 10 * time.Minute, ResponseBytes: 16 << 20,
}

const (
	// maxPages and maxPaged bound a report: with more pages, each is shorter.
	maxPages = 4096
	maxPaged = 8192 // sections on all pages
	// namedPoints are read again of what the baseline named. The rest of the points are
	// for what the pages show.
	namedPoints = 64
)

var (
	errPhase = domain.Invalid("phase_unknown", "A verification is a baseline or a recheck.").At("/phase")

	errNoTokens = errors.New("this process has no tokens to read with")
	errRuntime  = domain.Conflict("runtime_differs",
		"The build, a database or the bucket isn't the one that the plan names. Nothing was changed. Look at the deployments, and at the plan's drift.")

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
	if s.tokens == nil {
		return Verification{}, errNoTokens
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
	limits.PageRecords = r.PageSize
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
	r.PageSize = readLimits.PageRecords
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
