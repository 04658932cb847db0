package identity

import "github.com/holdfast-dev/holdfast/internal/domain"

// Census counts what the directory has of a tenant.
type Census struct {
	Records    []RecordCount `json:"records"` // each family and status, also those without any
	Keys       []KeyCount    `json:"keys"`    // each lookup family
	Codes      CodeCount     `json:"codes"`
	Pending    int64         `json:"pending_operations"` // under way, or waiting for recovery
	Residue    int64         `json:"residual_claims"`    // whom no record knows any more: harmless, and the sweep's to remove
	Events     int64         `json:"events"`             // that are kept
	Violations int64         `json:"violations"`         // found
}

// RecordCount is how many records of a family have a status.
type RecordCount struct {
	Family domain.Family `json:"family"`
	Status string        `json:"status"` // "deleted" for a tombstone
	Count  int64         `json:"count"`
}

// KeyCount is how many lookup keys the records of a tenant have in a family. A
// handle under the unicode policy has two: its own and its skeleton.
type KeyCount struct {
	Family domain.Family `json:"family"`
	Count  int64         `json:"count"`
}

// CodeCount is how many user codes devices have, by whether they have expired.
type CodeCount struct {
	Live int64 `json:"live"`
	Past int64 `json:"past"`
}
