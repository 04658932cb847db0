package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Preview says what a plan is to be made of.
type Preview struct {
	Qualification Hash    // of this build's report
	Caps          *Caps   // DefaultCaps if nil
	Prices        *Prices // DefaultPrices if nil
	// FreeBytes is what the fullest of the databases has free, as the previewer knows
	// it from its host: SQL can't tell. The way back needs it.
	FreeBytes int64
}

// Preview makes a migration's plan, and writes nothing else: it counts what is to
// be moved, and looks at the bucket's rules and at what this process works with. An
// earlier plan, and its approval, count no longer.
//
// Errors: not found migration_not_found; invalid caps_invalid; conflict
// migration_state, qualification_…, lifecycle_overlaps, object_store_missing,
// capacity_…; unavailable.
func (s *Service) Preview(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, want Preview) (Migration, Plan, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return Migration{}, Plan{}, err
	}
	if !slices.Contains([]State{Requested, Previewed, Approved}, m.State) {
		return Migration{}, Plan{}, errState(m.State)
	}
	caps := DefaultCaps
	if want.Caps != nil {
		caps = *want.Caps
	}
	if err := caps.check(); err != nil {
		return Migration{}, Plan{}, err
	}
	runtime, err := s.Runtime(ctx)
	if err != nil {
		return Migration{}, Plan{}, err
	}
	qualification, err := s.demandQualification(ctx, want.Qualification, runtime)
	if err != nil {
		return Migration{}, Plan{}, err
	}
	packet, err := s.packet(ctx, &m, runtime, Packet{
		Previewer: Named{scope.Principal, scope.Name}, Qualification: want.Qualification, Caps: caps, FreeBytes: want.FreeBytes,
	})
	if err != nil {
		return Migration{}, Plan{}, err
	}
	seen, err := s.observe(ctx, &m, want.prices(), qualification.rate(m.Kind))
	if err != nil {
		return Migration{}, Plan{}, err
	}
	if err := demandRoom(&m, &seen, want.FreeBytes); err != nil {
		return Migration{}, Plan{}, err
	}
	var plan Plan
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if plan, err = keepPlanTx(ctx, tx, &packet, &seen, actorOf(scope)); err != nil {
			return err
		}
		m, err = transitTx(ctx, tx, &m, step{
			act: "preview", to: Previewed, by: actorOf(scope), plan: &plan.Hash, caps: &caps,
			note: struct {
				PlanHash Hash `json:"plan_hash"`
			}{plan.Hash},
		})
		return err
	})
	return m, plan, err
}

func (w *Preview) prices() Prices {
	if w.Prices != nil {
		return *w.Prices
	}
	return DefaultPrices
}

// packet is what a plan says, from what is so now and what was decided: who makes
// it, by which qualification, within which bounds.
func (s *Service) packet(ctx context.Context, m *Migration, runtime Runtime, p Packet) (Packet, error) {
	policy, err := s.policy(ctx, m.Kind)
	if err != nil {
		return Packet{}, err
	}
	if p.LifecycleHash, err = hashOf(policy); err != nil {
		return Packet{}, err
	}
	p.Lifecycle, p.LifecycleAt = policy, time.Now().UTC().Truncate(time.Microsecond)
	p.Type, p.Migration, p.Tenant, p.Kind = PacketType, m.ID, m.Tenant, m.Kind
	way := m.Kind.direction()
	p.From, p.To = way.from, way.to
	p.Build, p.Floor, p.Store = runtime.Build, runtime.Build, runtime.Store
	p.Databases = slices.SortedFunc(slices.Values(runtime.Databases), func(a, b Database) int { return strings.Compare(a.Name, b.Name) })
	p.Scope, p.StopRules = m.predicates(), StopRules
	return p, nil
}

// predicates say over which collections' rows the migration goes.
func (m *Migration) predicates() []string {
	of := fmt.Sprintf("tenant_id = '%s'", m.Tenant)
	if m.Collections == nil {
		return []string{of}
	}
	all := make([]string, 0, len(m.Collections))
	for _, name := range m.Collections {
		all = append(all, fmt.Sprintf("%s AND collection = '%s'", of, name)) // a name has no quote
	}
	return all
}

// roomAbove is what a database must have free above the bodies that come into it:
// for rows, indexes and the log, in percent.
const roomAbove = 50

// demandRoom holds the way back to the room that was stated.
func demandRoom(m *Migration, seen *Observations, free int64) error {
	if m.Kind != Rehydrate {
		return nil
	}
	if free <= 0 {
		return domain.Invalid("capacity_missing",
			"Bodies come back into the databases. Say how many bytes the fullest of them has free: its host knows.").At("/free_bytes")
	}
	if need := seen.Bytes() + seen.Bytes()*roomAbove/100; need > free {
		return domain.Conflict("capacity_short",
			fmt.Sprintf("The bodies need some %d bytes, with rows and indexes. Make room, or name fewer collections.", need)).At("/free_bytes")
	}
	return nil
}

// Drift compares a migration's plan with what is so now, field by field.
//
// Errors: not found migration_not_found, plan_not_found; those of Preview.
func (s *Service) Drift(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]Drift, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	p, err := s.Plan(ctx, tenant, id, m.PlanHash)
	if err != nil {
		return nil, err
	}
	return s.drift(ctx, &m, &p)
}

func (s *Service) drift(ctx context.Context, m *Migration, p *Plan) ([]Drift, error) {
	runtime, err := s.Runtime(ctx)
	if err != nil {
		return nil, err
	}
	now, err := s.packet(ctx, m, runtime, p.Packet)
	if err != nil {
		return nil, err
	}
	return drift(&p.Packet, &now)
}

var errDrifted = domain.Conflict("plan_drifted",
	"What the plan was made for has changed. Look at the differences, preview anew, and have the new plan approved.")

// errDriftedAfter is the same behind the point of no return, where no other plan can
// be made.
var errDriftedAfter = domain.Conflict(errDrifted.Code,
	"What the plan was made for has changed. Look at the differences. For another build have the migration requalified, and bring anything else back to what the plan names.")

// demandPlan refuses a plan that isn't so any more.
func (s *Service) demandPlan(ctx context.Context, m *Migration, p *Plan) error {
	found, err := s.drift(ctx, m, p)
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		return errDrifted.With("drift", found)
	}
	return nil
}
