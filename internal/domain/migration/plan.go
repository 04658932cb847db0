package migration

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	jsonexp "github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Plan is a packet as it was shown, with what was counted beside it.
type Plan struct {
	Hash         Hash
	Packet       Packet
	Text         string // the packet's canonical JSON, of which Hash is
	Observations Observations
	PreviewedBy  domain.PrincipalID
	Previewer    string
	PreviewedAt  time.Time
	CountedAt    time.Time // the observations
}

const sqlPlan = `
SELECT p.plan_hash, p.packet, p.observations, p.previewed_by, p.previewer, p.previewed_at, p.counted_at
  FROM migration_plans p WHERE p.tenant_id = $1 AND p.migration_id = $2 AND p.plan_hash = $3`

var (
	errNoPlan     = domain.NotFound("plan_not_found", "The migration has no plan of this hash.")
	errOtherHash  = domain.Conflict("plan_hash_differs", "That is the hash of no plan or envelope that the migration has now. Look at it again, and name the hash that you see.")
	errNotOneself = errors.New("a stored plan isn't what its hash says")
)

// planTx reads a plan, and holds it to its hash: whatever changed a stored packet
// stops all that would go by it.
func planTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.MigrationID, hash Hash) (p Plan, err error) {
	rows, _ := tx.Query(ctx, sqlPlan, tenant, id, hash[:])
	p, err = pgx.CollectExactlyOneRow(rows, scanPlan)
	if errors.Is(err, pgx.ErrNoRows) {
		return Plan{}, errNoPlan
	}
	if err != nil {
		return Plan{}, err
	}
	if again, err := p.Packet.Canonical(); err != nil || string(again) != p.Text || sum(again) != hash {
		return Plan{}, errors.Join(errNotOneself, err)
	}
	return p, nil
}

func scanPlan(row pgx.CollectableRow) (p Plan, err error) {
	var hash, observations []byte
	if err := row.Scan(&hash, &p.Text, &observations, &p.PreviewedBy, &p.Previewer, &p.PreviewedAt, &p.CountedAt); err != nil {
		return p, err
	}
	copy(p.Hash[:], hash)
	p.PreviewedAt, p.CountedAt = p.PreviewedAt.UTC(), p.CountedAt.UTC()
	if err := json.Unmarshal(observations, &p.Observations); err != nil {
		return p, err
	}
	return p, jsonexp.Unmarshal([]byte(p.Text), &p.Packet)
}

// Plan gives a plan of a migration, the present one or one before.
//
// Errors: not found plan_not_found; unavailable.
func (s *Service) Plan(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, hash Hash) (p Plan, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		p, err = planTx(ctx, tx, tenant, id, hash)
		return err
	})
	return p, err
}

// standing reads a migration and its present plan, which the caller has named.
//
// Errors: not found migration_not_found; conflict plan_hash_differs; unavailable.
func (s *Service) standing(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, named Hash) (m Migration, p Plan, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		if m, err = migrationTx(ctx, tx, tenant, id); err != nil {
			return err
		}
		if m.PlanHash != named || named == (Hash{}) {
			return errOtherHash
		}
		p, err = planTx(ctx, tx, tenant, id, named)
		return err
	})
	return m, p, err
}

const sqlKeepPlan = `
INSERT INTO migration_plans AS p (tenant_id, migration_id, plan_hash, packet, observations, previewed_by, previewer, previewed_at, counted_at)
SELECT $1, $2, $3, $4, $5, $6, $7, now.at, now.at FROM (SELECT clock_timestamp() AS at) now
ON CONFLICT (tenant_id, migration_id, plan_hash) DO UPDATE SET observations = excluded.observations, counted_at = excluded.counted_at
RETURNING p.plan_hash, p.packet, p.observations, p.previewed_by, p.previewer, p.previewed_at, p.counted_at`

// keepPlanTx writes a plan down, or what was counted anew for one that is there.
func keepPlanTx(ctx context.Context, tx pgx.Tx, packet *Packet, o *Observations, by Actor) (Plan, error) {
	text, err := packet.Canonical()
	if err != nil {
		return Plan{}, err
	}
	hash := sum(text)
	rows, _ := tx.Query(ctx, sqlKeepPlan, packet.Tenant, packet.Migration, hash[:], string(text), jsonOf(o), by.ID, by.Name)
	return pgx.CollectExactlyOneRow(rows, scanPlan)
}
