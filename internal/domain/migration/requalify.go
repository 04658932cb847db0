package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var errApplied = domain.Conflict("envelope_applied", "The envelope has been applied already. The migration goes by the plan that it carried over.")

// Requalify applies an approved envelope: it uses the approval up, has each
// collection take the next plan over, and then the migration. Only when all have it
// may runs begin again. An error or a crash in between leaves the migration
// requalifying, and calling again goes on, by a process of whatever build: what is
// applied was approved as it stands.
//
// A collection changes its plan, its build and its token, and nothing else. So what
// a pass of the former build has prepared can't commit any more. One that is drained
// changes nothing at all; what was verified is to be verified again, by the build
// that closes.
//
// Errors: not found migration_not_found, envelope_not_found; conflict
// migration_state, requalification_under_way (by another envelope),
// envelope_applied, envelope_stale, approval_missing, build_differs, plan_drifted,
// migration_moved; unavailable.
func (s *Service) Requalify(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, envelope Hash) (m Migration, err error) {
	var e Envelope
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		if m, err = migrationTx(ctx, tx, tenant, id); err != nil {
			return err
		}
		e, err = envelopeTx(ctx, tx, tenant, id, envelope)
		return err
	})
	if err != nil {
		return Migration{}, err
	}
	if m.Envelope == (Hash{}) {
		if m, err = s.beginRequalify(ctx, scope, &m, &e, envelope); err != nil {
			return Migration{}, err
		}
	}
	if m.Envelope != envelope {
		return Migration{}, errBuildMoves
	}
	// A crash from here on leaves some collections with the next plan and others with
	// the former. None is worked on: the migration is neither active nor resumable.
	for i := range e.Checkpoints {
		if err := s.carryOver(ctx, &e, &e.Checkpoints[i]); err != nil {
			return Migration{}, err
		}
	}
	return s.endRequalify(ctx, scope, tenant, id, &e, envelope)
}

// beginRequalify looks at everything that the envelope was made from once more, and
// uses the approval up.
func (s *Service) beginRequalify(ctx context.Context, scope tenancy.Scope, m *Migration, e *Envelope, hash Hash) (next Migration, err error) {
	switch {
	case m.PlanHash == e.NextHash:
		return Migration{}, errApplied
	case m.PlanHash != e.Previous:
		return Migration{}, errStale
	case !m.State.resting():
		return Migration{}, errState(m.State)
	case s.build != e.Next.Build:
		return Migration{}, errOtherBuild
	}
	if err := s.demandPlan(ctx, m, &Plan{Packet: e.Next}); err != nil {
		return Migration{}, err
	}
	if err := s.demandStandings(ctx, m, e); err != nil {
		return Migration{}, err
	}
	err = s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		if err := useApprovalTx(ctx, tx, m, ofEnvelope, hash); err != nil {
			return err
		}
		next, err = transitTx(ctx, tx, m, step{act: "requalify", to: m.State, by: actorOf(scope), envelope: &hash, note: requalified{hash, e.Previous, e.NextHash}})
		return err
	})
	return next, err
}

// demandStandings holds all checkpoints to be just as the envelope has them.
func (s *Service) demandStandings(ctx context.Context, m *Migration, e *Envelope) error {
	stand, err := s.standings(ctx, m)
	if err != nil {
		return err
	}
	found, err := hashOf(stand)
	if err != nil || found == e.CheckpointsHash {
		return err
	}
	now, err := s.Migration(ctx, m.Tenant, m.ID)
	switch {
	case err != nil:
		return err
	case now.Revision != m.Revision:
		return errMoved // another caller of this very envelope, perhaps
	}
	return errStale
}

// requalified is the note of a requalification's transitions.
type requalified struct {
	Envelope Hash `json:"envelope_hash"`
	Previous Hash `json:"previous_plan_hash"`
	Next     Hash `json:"next_plan_hash"`
}

// sqlCarryOver has a collection go by the next plan, from exactly the checkpoint
// that the envelope has.
const sqlCarryOver = `
UPDATE migration_checkpoints m SET plan_hash = $4, build = $5, token = $6
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3
   AND m.token = $7 AND m.plan_hash = $8 AND m.held AND m.drained_at IS NULL AND m.closed_at IS NULL`

// carryOver has one collection take the next plan over, in one transaction. One that
// has it stays as it is, and so does one that was drained by the former.
func (s *Service) carryOver(ctx context.Context, e *Envelope, was *Standing) error {
	if was.Drained {
		return nil
	}
	number := record.NumberOf(was.Collection)
	return tenancy.Run(ctx, s.router.Database(number), s.entry(e.Tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		var stands Checkpoint
		locked := s.records.Lock(tx, e.Tenant, was.Collection, was.ID)
		queueCheckpoint(tx, sqlLockCheckpoint, number, was.ID, &stands)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		switch {
		case stands.Migration == e.Migration && stands.PlanHash == e.NextHash && stands.Build == e.Next.Build:
			return nil
		case stands.token != was.Token, stands.PlanHash != was.PlanHash, !stands.Held, !stands.DrainedAt.IsZero(), locked.Format() != e.Next.To:
			return errStale
		}
		token := domain.RandomID[domain.TokenKind]()
		tx.Queue(sqlCarryOver, int16(number), was.ID, e.NextHash[:], e.Next.Build, token, was.Token, was.PlanHash[:])
		tx.Queue(sqlDemandCheckpoint, int16(number), was.ID, token)
		return nil
	})
}

// endRequalify has the migration itself go by the next plan.
func (s *Service) endRequalify(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, e *Envelope, hash Hash) (m Migration, err error) {
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if m, err = migrationTx(ctx, tx, tenant, id); err != nil {
			return err
		}
		if m.Envelope != hash {
			return errMoved // another caller was faster, and has ended it
		}
		m, err = transitTx(ctx, tx, &m, step{
			act: "requalified", to: m.State, by: actorOf(scope), plan: &e.NextHash, supersedes: true, envelope: &Hash{},
			note: requalified{hash, e.Previous, e.NextHash},
		})
		return err
	})
	return m, err
}
