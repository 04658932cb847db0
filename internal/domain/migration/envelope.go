package migration

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Envelope carries a plan over to a new build while a migration is under way. Its
// hash is what is approved. It holds every checkpoint as it was found, so that it
// can be applied to exactly these and to no others.
type Envelope struct {
	Type            string             `json:"type"` // EnvelopeType
	Tenant          domain.TenantID    `json:"tenant_id"`
	Migration       domain.MigrationID `json:"migration_id"`
	Previous        Hash               `json:"previous_plan_hash"`
	Checkpoints     []Standing         `json:"checkpoints"` // by collection
	CheckpointsHash Hash               `json:"checkpoints_hash"`
	Next            Packet             `json:"next_plan"`
	NextHash        Hash               `json:"next_plan_hash"`
}

// EnvelopeType is in every envelope, and so in every hash.
const EnvelopeType = "holdfast-migration-envelope-v1"

// Standing is a checkpoint as an envelope found it.
type Standing struct {
	Collection  string              `json:"collection"`
	ID          domain.CollectionID `json:"collection_id"`
	PlanHash    Hash                `json:"plan_hash"`
	Build       string              `json:"build"`
	Token       domain.Token        `json:"token"`
	Held        bool                `json:"held"`
	HeldAt      int64               `json:"held_at"`
	Frontier    int64               `json:"frontier"`
	AfterRow    int64               `json:"after_row"`
	AfterKey    string              `json:"after_key"`
	Sweep       int64               `json:"sweep"`
	SweepMoved  int64               `json:"sweep_moved"`
	Passes      int64               `json:"passes"`
	Inspected   int64               `json:"inspected"`
	Moved       int64               `json:"moved"`
	Bodies      int64               `json:"bodies"`
	Bytes       int64               `json:"bytes"`
	Uploads     int64               `json:"uploads"`
	Reuses      int64               `json:"reuses"`
	Raced       int64               `json:"raced"`
	Retries     int64               `json:"retries"`
	ActivatedAt time.Time           `json:"activated_at"`
	MovedAt     time.Time           `json:"moved_at"`
	Drained     bool                `json:"drained"` // it keeps its plan
}

func standingOf(c *Checkpoint) Standing {
	return Standing{
		Collection: c.Collection, ID: c.CollectionID, PlanHash: c.PlanHash, Build: c.Build, Token: c.token, Held: c.Held, HeldAt: c.HeldAt,
		Frontier: c.Frontier, AfterRow: c.AfterRow, AfterKey: c.AfterKey, Sweep: c.Sweep, SweepMoved: c.SweepMoved,
		Passes: c.Passes, Inspected: c.Inspected, Moved: c.Moved, Bodies: c.Bodies, Bytes: c.Bytes,
		Uploads: c.Uploads, Reuses: c.Reuses, Raced: c.Raced, Retries: c.Retries,
		ActivatedAt: c.ActivatedAt, MovedAt: c.MovedAt, Drained: !c.DrainedAt.IsZero(),
	}
}

// standings are a migration's checkpoints as an envelope has them, by number and
// collection.
func (s *Service) standings(ctx context.Context, m *Migration) ([]Standing, error) {
	all, err := s.checkpoints(ctx, m)
	if err != nil {
		return nil, err
	}
	found := make([]Standing, len(all))
	for i := range all {
		found[i] = standingOf(&all[i])
	}
	return found, nil
}

// Canonical is the envelope as RFC 8785 JSON.
func (e *Envelope) Canonical() ([]byte, error) { return canonical(e) }

// Hash is the SHA-256 of the canonical envelope.
func (e *Envelope) Hash() (Hash, error) { return hashOf(e) }

const sqlKeepEnvelope = `
INSERT INTO migration_envelopes (tenant_id, migration_id, envelope_hash, envelope, previewed_by, previewer, previewed_at)
SELECT $1, $2, $3, $4, $5, $6, clock_timestamp()`

// keepEnvelopeTx writes an envelope down, and gives its hash.
func keepEnvelopeTx(ctx context.Context, tx pgx.Tx, e *Envelope, by Actor) (Hash, error) {
	text, err := e.Canonical()
	if err != nil {
		return Hash{}, err
	}
	hash := sum(text)
	_, err = tx.Exec(ctx, sqlKeepEnvelope, e.Tenant, e.Migration, hash[:], string(text), by.ID, by.Name)
	return hash, err
}

const sqlEnvelope = `
SELECT e.envelope FROM migration_envelopes e WHERE e.tenant_id = $1 AND e.migration_id = $2 AND e.envelope_hash = $3`

var errNoEnvelope = domain.NotFound("envelope_not_found", "The migration has no envelope of this hash.")

// envelopeTx reads an envelope, and holds it to its hash.
func envelopeTx(ctx context.Context, tx pgx.Tx, tenant domain.TenantID, id domain.MigrationID, hash Hash) (e Envelope, err error) {
	var text string
	err = tx.QueryRow(ctx, sqlEnvelope, tenant, id, hash[:]).Scan(&text)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Envelope{}, errNoEnvelope
	case err != nil:
		return Envelope{}, err
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return Envelope{}, err
	}
	if again, err := e.Canonical(); err != nil || string(again) != text || sum(again) != hash {
		return Envelope{}, errors.Join(errNotOneself, err)
	}
	return e, nil
}

// Envelope gives an envelope that was made for a migration, for whoever is to approve
// it.
//
// Errors: not found envelope_not_found; unavailable.
func (s *Service) Envelope(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, hash Hash) (e Envelope, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		e, err = envelopeTx(ctx, tx, tenant, id, hash)
		return err
	})
	return e, err
}
