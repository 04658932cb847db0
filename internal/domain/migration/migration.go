package migration

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Migration is a migration of a tenant's bodies.
type Migration struct {
	ID          domain.MigrationID
	Tenant      domain.TenantID
	Kind        Kind
	State       State
	Revision    int64    // grows by one with each transition
	Collections []string // nil for all that the tenant has
	PlanHash    Hash     // zero until there is a plan
	Former      []Hash   // of the plans that this one follows, each for another build
	Caps        *Caps    // in force; nil until there is a plan
	Stop        *Stop    // why it is stopped; nil unless it is
	HeldBy      string   // who paused it; "" unless somebody did
	Envelope    Hash     // of a change of the build that is under way; zero without one
	RequestedBy domain.PrincipalID
	Requester   string
	RequestedAt time.Time
	ChangedAt   time.Time

	fingerprint []byte
}

// Stop says why a migration is stopped, in one category of a closed list, with
// the record and the next step that is safe.
type Stop struct {
	From       State  `json:"from"` // to which a resumption leads back
	Category   string `json:"category"`
	Collection string `json:"collection,omitempty"`
	Key        string `json:"key,omitempty"`
	Section    string `json:"section,omitempty"`
	NextStep   string `json:"next_step"`
}

const migrationColumns = `m.migration_id, m.tenant_id, m.kind, m.state, m.revision, m.collections, m.plan_hash, m.former_hashes, m.caps,
       m.stop, m.held_by, m.envelope_hash, m.requested_by, m.requester, m.fingerprint, m.requested_at, m.changed_at`

func scanMigration(row pgx.CollectableRow) (m Migration, err error) {
	var hash, caps, stop, envelope []byte
	var former [][]byte
	var heldBy *string
	err = row.Scan(&m.ID, &m.Tenant, &m.Kind, &m.State, &m.Revision, &m.Collections, &hash, &former, &caps,
		&stop, &heldBy, &envelope, &m.RequestedBy, &m.Requester, &m.fingerprint, &m.RequestedAt, &m.ChangedAt)
	if err != nil {
		return m, err
	}
	copy(m.PlanHash[:], hash)
	copy(m.Envelope[:], envelope)
	for _, h := range former {
		m.Former = append(m.Former, Hash(h))
	}
	m.RequestedAt, m.ChangedAt = m.RequestedAt.UTC(), m.ChangedAt.UTC()
	if heldBy != nil {
		m.HeldBy = *heldBy
	}
	if caps != nil {
		m.Caps = &Caps{}
		if err := json.Unmarshal(caps, m.Caps); err != nil {
			return m, err
		}
	}
	if stop != nil {
		m.Stop = &Stop{}
		err = json.Unmarshal(stop, m.Stop)
	}
	return m, err
}
