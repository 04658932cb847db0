package migration

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	errSameBuild = domain.Conflict("build_same",
		"This process is of the plan's own build. Ask one of the build that is to go on.")
	errNotHeld = domain.Conflict("checkpoints_not_held",
		"Some collection isn't held yet, so a pass may still commit there. Pause again, which holds them all.")
	errStale = domain.Conflict("envelope_stale",
		"Something has moved since the envelope was made. Preview the change of the build anew, and have that approved.")
)

// carriedOver are the fields of a plan that a change of the build may change. When
// the bucket's rules were looked at is one too.
var carriedOver = []string{"/build", "/rollback_floor_build", "/qualification"}

// RequalifyPreview makes the envelope that would carry a migration in which no pass
// commits over to the build of this process: one that is paused or stopped, or that
// is drained and yet to be verified and closed. previous names its plan.
// Nothing goes by it until it is approved and applied.
//
// Errors: not found migration_not_found; conflict plan_hash_differs,
// migration_state, requalification_under_way, build_same, qualification_…,
// checkpoints_not_held, envelope_stale (when a collection goes by yet another plan),
// plan_drifted (with the fields that differ and may not), lifecycle_overlaps;
// unavailable.
func (s *Service) RequalifyPreview(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, previous, qualification Hash) (Envelope, error) {
	m, p, err := s.standing(ctx, tenant, id, previous)
	switch {
	case err != nil:
		return Envelope{}, err
	case !m.State.resting():
		return Envelope{}, errState(m.State)
	case m.Envelope != Hash{}:
		return Envelope{}, errBuildMoves
	}
	next, err := s.nextPacket(ctx, &m, &p, qualification)
	if err != nil {
		return Envelope{}, err
	}
	e := Envelope{Type: EnvelopeType, Tenant: tenant, Migration: id, Previous: previous, Next: next}
	if e.NextHash, err = next.Hash(); err != nil {
		return Envelope{}, err
	}
	if e.Checkpoints, err = s.standings(ctx, &m); err != nil {
		return Envelope{}, err
	}
	if err := demandHeld(e.Checkpoints, &m); err != nil {
		return Envelope{}, err
	}
	if e.CheckpointsHash, err = hashOf(e.Checkpoints); err != nil {
		return Envelope{}, err
	}
	return e, s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := keepPlanTx(ctx, tx, &next, &p.Observations, actorOf(scope)); err != nil {
			return err
		}
		_, err := keepEnvelopeTx(ctx, tx, &e, actorOf(scope))
		return err
	})
}

// nextPacket is a plan as it is for this process: the same but for the build, its
// qualification, and when the bucket's rules were looked at.
func (s *Service) nextPacket(ctx context.Context, m *Migration, p *Plan, qualification Hash) (Packet, error) {
	runtime, err := s.Runtime(ctx)
	if err != nil {
		return Packet{}, err
	}
	if runtime.Build == p.Packet.Build {
		return Packet{}, errSameBuild
	}
	if _, err := s.demandQualification(ctx, qualification, runtime); err != nil {
		return Packet{}, err
	}
	was := p.Packet
	was.Qualification = qualification
	next, err := s.packet(ctx, m, runtime, was)
	if err != nil {
		return Packet{}, err
	}
	found, err := drift(&p.Packet, &next)
	if err != nil {
		return Packet{}, err
	}
	found = slices.DeleteFunc(found, func(d Drift) bool { return slices.Contains(carriedOver, d.Field) })
	if len(found) > 0 {
		return Packet{}, errDriftedAfter.With("drift", found)
	}
	return next, nil
}

// demandHeld holds checkpoints to be at rest, under the plan that is to be carried
// over: one that is drained keeps that which it was drained by.
func demandHeld(all []Standing, m *Migration) error {
	for i := range all {
		c := &all[i]
		switch {
		case c.PlanHash != m.PlanHash && (!c.Drained || !slices.Contains(m.Former, c.PlanHash)):
			return errStale
		case !c.Held && !c.Drained: // of what is drained no pass commits
			return errNotHeld
		}
	}
	return nil
}
