package migration

import (
	"bytes"
	"crypto/sha256"
	"fmt"

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
	Scope         []string           `json:"scope"` // a predicate over collections' rows, a collection
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

// PolicyRule is a lifecycle rule of the bucket, as it was read.
type PolicyRule struct {
	ID         string   `json:"id"`
	Enabled    bool     `json:"enabled"`
	Deletes    bool     `json:"deletes"`
	Prefix     string   `json:"prefix"`
	Actions    []string `json:"actions"`
	Conditions []string `json:"conditions"`
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

// drift compares two packets field by field.
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
	for i, field := range a.order {
		if a.values[i] != b.values[i] {
			all = append(all, Drift{"/" + field, a.values[i], b.values[i]})
		}
	}
	return all, nil
}

// flat are a packet's fields, in the order of canonical JSON.
type flat struct{ order, values []string }

func fields(p *Packet) (f flat, err error) {
	text, err := p.Canonical()
	if err != nil {
		return f, err
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.ReadToken(); err != nil {
		return f, err
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return f, err
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return f, fmt.Errorf("%s: %w", name.String(), err)
		}
		f.order = append(f.order, name.String())
		f.values = append(f.values, string(value))
	}
	return f, nil
}
