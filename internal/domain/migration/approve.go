package migration

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// purpose is what an approval is of.
type purpose string

const (
	ofPlan     purpose = "plan"
	ofEnvelope purpose = "envelope" // a change of the build
	ofResume   purpose = "resume"   // going on behind a stop
)

// freshCounts is how old the counts may be that are approved with a plan.
const freshCounts = time.Hour

var (
	errNotYours = domain.Forbidden("approver_is_involved",
		"Who asked for a migration, or made its plan, can't approve it, nor whom they made, or who made them. Another operator has to.")
	errCounted = domain.Conflict("counts_refreshed",
		"The counts were more than an hour old, and have been made anew. Look at them, and approve again.")
	errNotApproved = domain.Conflict("approval_missing",
		"Nobody has approved that for the state that the migration is in, or the approval is used up. Have an operator approve it.")
)

// Approve approves what a hash is of: a plan that was shown, an envelope that
// carries a plan over to another build, or, with the plan's hash, going on behind a
// stop. The approval is for the state that the migration has then, and is used
// once.
//
// Errors: not found migration_not_found, plan_not_found; forbidden
// approver_is_involved; conflict migration_state, plan_hash_differs, plan_drifted,
// counts_refreshed, capacity_short (by counts that were made anew),
// lifecycle_overlaps; unavailable.
func (s *Service) Approve(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, hash Hash) (Migration, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return Migration{}, err
	}
	switch {
	case m.State == Previewed:
		return s.approvePlan(ctx, scope, tenant, id, hash)
	case m.State == Stopped && hash == m.PlanHash:
		return s.approveResumption(ctx, scope, tenant, id, hash)
	case m.State.resting() && hash != m.PlanHash:
		return s.approveEnvelope(ctx, scope, &m, hash)
	}
	return Migration{}, errState(m.State)
}

func (s *Service) approvePlan(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, hash Hash) (Migration, error) {
	m, p, err := s.standing(ctx, tenant, id, hash)
	if err != nil {
		return Migration{}, err
	}
	if err := s.demandAnother(ctx, scope, m.Requester, p.Previewer); err != nil {
		return Migration{}, err
	}
	if err := s.demandPlan(ctx, &m, &p); err != nil {
		return Migration{}, err
	}
	if err := s.demandFresh(ctx, &m, &p); err != nil {
		return Migration{}, err
	}
	if err := demandRoom(&m, &p.Observations, p.Packet.FreeBytes); err != nil {
		return Migration{}, err
	}
	return s.approve(ctx, scope, &m, Approved, ofPlan, hash)
}

func (s *Service) approveResumption(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, hash Hash) (Migration, error) {
	m, p, err := s.standing(ctx, tenant, id, hash)
	if err != nil {
		return Migration{}, err
	}
	if err := s.demandAnother(ctx, scope, m.Requester, p.Previewer); err != nil {
		return Migration{}, err
	}
	if err := s.demandRunnable(ctx, &m, &p); err != nil {
		return Migration{}, err
	}
	return s.approve(ctx, scope, &m, Stopped, ofResume, hash)
}

const sqlEnvelopeBy = `
SELECT e.previewer FROM migration_envelopes e WHERE e.tenant_id = $1 AND e.migration_id = $2 AND e.envelope_hash = $3`

func (s *Service) approveEnvelope(ctx context.Context, scope tenancy.Scope, m *Migration, hash Hash) (Migration, error) {
	var previewer string
	err := s.control.ControlRead(ctx, m.Tenant, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlEnvelopeBy, m.Tenant, m.ID, hash[:]).Scan(&previewer)
		if errors.Is(err, pgx.ErrNoRows) {
			return errOtherHash
		}
		return err
	})
	if err != nil {
		return Migration{}, err
	}
	if err := s.demandAnother(ctx, scope, m.Requester, previewer); err != nil {
		return Migration{}, err
	}
	return s.approve(ctx, scope, m, m.State, ofEnvelope, hash)
}

// demandAnother holds an approver to be another person than those who are involved.
func (s *Service) demandAnother(ctx context.Context, approver tenancy.Scope, names ...string) error {
	involved, err := s.control.Involved(ctx, approver, names...)
	if err == nil && involved {
		return errNotYours
	}
	return err
}

// demandFresh counts anew what was counted too long ago, and has the approver look
// at it.
func (s *Service) demandFresh(ctx context.Context, m *Migration, p *Plan) error {
	var stale bool
	err := s.control.ControlRead(ctx, m.Tenant, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT clock_timestamp() - $1::timestamptz > $2::interval`, p.CountedAt, freshCounts).Scan(&stale)
	})
	if err != nil || !stale {
		return err
	}
	report, err := s.Qualification(ctx, p.Packet.Qualification)
	if err != nil {
		return err
	}
	seen, err := s.observe(ctx, m, p.Observations.Prices, report.rate(m.Kind))
	if err != nil {
		return err
	}
	err = s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		_, err := keepPlanTx(ctx, tx, &p.Packet, &seen, Actor{p.PreviewedBy, p.Previewer})
		return err
	})
	return errors.Join(err, errCounted)
}

const sqlApprove = `
INSERT INTO migration_approvals (tenant_id, migration_id, approved_hash, for_revision, purpose, approved_by, approver, approved_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// approve makes the transition, and an approval for the revision behind it.
func (s *Service) approve(ctx context.Context, scope tenancy.Scope, m *Migration, to State, of purpose, hash Hash) (next Migration, err error) {
	err = s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		next, err = transitTx(ctx, tx, m, step{
			act: "approve", to: to, by: actorOf(scope),
			note: struct {
				Purpose purpose `json:"purpose"`
				Hash    Hash    `json:"hash"`
			}{of, hash},
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlApprove, m.Tenant, m.ID, hash[:], next.Revision, of, scope.Principal, scope.Name, next.ChangedAt)
		return err
	})
	return next, err
}

// sqlUseApproval takes an approval that was given since the migration came into the
// state that it has. What was noted in that state meanwhile, a verification say,
// doesn't spoil it.
const sqlUseApproval = `
UPDATE migration_approvals a SET used_at = $6
 WHERE a.tenant_id = $1 AND a.migration_id = $2 AND a.approved_hash = $3 AND a.for_revision <= $4 AND a.purpose = $5 AND a.used_at IS NULL
   AND NOT EXISTS (SELECT FROM migration_transitions t
                    WHERE t.tenant_id = $1 AND t.migration_id = $2 AND t.revision > a.for_revision AND t.from_state <> t.to_state)`

// useApprovalTx uses up the approval of a hash that was given for the state that the
// migration has, at the revision that was read.
//
// Errors: conflict approval_missing.
func useApprovalTx(ctx context.Context, tx pgx.Tx, m *Migration, of purpose, hash Hash) error {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	used, err := tx.Exec(ctx, sqlUseApproval, m.Tenant, m.ID, hash[:], m.Revision, of, now)
	switch {
	case err != nil:
		return err
	case used.RowsAffected() == 0:
		return errNotApproved
	}
	return nil
}
