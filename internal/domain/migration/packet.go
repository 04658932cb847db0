package migration

import (
	"crypto/sha256"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Packet is a plan: what will be done, by which build, where, within which bounds.
// Its hash is what is approved, and what every later step names. Live counts,
// frontiers and progress are outside of it.
type Packet struct {
	Type          string             `json:"type"` // PacketType
	Migration     domain.MigrationID `json:"migration_id"`
	Tenant        domain.TenantID    `json:"tenant_id"`
	Kind          Kind               `json:"kind"`
	Build         string             `json:"build"`
	Floor         string             `json:"rollback_floor_build"` // the same, qualified
	Qualification Hash               `json:"qualification"`        // of its report
	From          int16              `json:"from_format"`
	To            int16              `json:"to_format"`
	Databases     []Database         `json:"databases"` // by name
	Previewer     Named              `json:"operator"`
	Store         StorePlace         `json:"store"`
	Lifecycle     []PolicyRule       `json:"lifecycle"`
	LifecycleHash Hash               `json:"lifecycle_hash"`
	LifecycleAt   time.Time          `json:"lifecycle_observed_at"` // UTC, to the microsecond
	Scope         []string           `json:"scope"`                 // predicates over collections' rows, of which one holds
	FreeBytes     int64              `json:"free_bytes,omitzero"`   // of the fullest database, as the previewer states it; for the way back
	Caps          Caps               `json:"caps"`
	StopRules     []string           `json:"stop_rules"`
}

// PacketType is in every packet, and so in every hash.
const PacketType = "holdfast-migration-plan-v1"

// Database is a data database by what doesn't change while it lives.
type Database struct {
	Name    string `json:"name"`
	System  string `json:"system_identifier"` // of the cluster
	OID     int64  `json:"database_oid"`
	Numbers string `json:"numbers"` // that are placed on it: "0-31"
}

// Named is a person, by the id that stays.
type Named struct {
	ID   domain.PrincipalID `json:"id"`
	Name string             `json:"name"`
}

// StorePlace is where the bodies go.
type StorePlace struct {
	Endpoint string `json:"endpoint"`
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix"`
}

// StopRules are what stops a migration for a review. They are the same for all.
var StopRules = []string{
	"a section isn't what its row says",
	"an object at a body's key has other bytes",
	"the bucket can't be reached",
	"a lifecycle rule that can delete overlaps the prefix, or the rules can't be read",
	"a recheck finds a changed digest at the same revision, or a record that has gone",
}

// Canonical is the packet as RFC 8785 JSON.
func (p *Packet) Canonical() ([]byte, error) { return canonical(p) }

// Hash is the SHA-256 of the canonical packet.
func (p *Packet) Hash() (Hash, error) { return hashOf(p) }

func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		return nil, err
	}
	return value, nil
}

func hashOf(v any) (Hash, error) {
	text, err := canonical(v)
	return sha256.Sum256(text), err
}

// Drift is a field of a plan that is no longer what it was.
type Drift struct {
	Field string `json:"field"` // a JSON pointer (RFC 6901)
	Was   string `json:"was"`   // canonical JSON
	Is    string `json:"is"`
}

// drift compares two packets field by field. When the lifecycle rules were looked
// at is no difference.
func drift(was, is *Packet) ([]Drift, error) {
	a, err := fields(was)
	if err != nil {
		return nil, err
	}
	b, err := fields(is)
	if err != nil {
		return nil, err
	}
	var all []Drift
	for _, field := range fieldsOf(a, b) {
		if a[field] != b[field] && field != "lifecycle_observed_at" {
			all = append(all, Drift{"/" + field, a[field], b[field]})
		}
	}
	return all, nil
}

// fields are a packet's, each as canonical JSON.
func fields(p *Packet) (map[string]string, error) {
	text, err := p.Canonical()
	if err != nil {
		return nil, err
	}
	var raw map[string]jsontext.Value
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	all := make(map[string]string, len(raw))
	for name, value := range raw {
		all[name] = string(value)
	}
	return all, nil
}

// fieldsOf are the names that either has, in order.
func fieldsOf(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
