package migration

import (
	"time"

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

	number domain.Number // by the name
}

// Canonical is the envelope as RFC 8785 JSON.
func (e *Envelope) Canonical() ([]byte, error) { return canonical(e) }

// Hash is the SHA-256 of the canonical envelope.
func (e *Envelope) Hash() (Hash, error) { return hashOf(e) }
