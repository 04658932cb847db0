package identity

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

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

// statuses are those that the records of each family can have.
var statuses = []struct {
	family domain.Family
	of     []string
}{
	{domain.FamilyAccount, []string{string(Active), string(Disabled), string(deleted)}},
	{domain.FamilyDevice, []string{string(DevicePending), string(DeviceApproved), string(DeviceDenied), string(DeviceRevoked)}},
}

// tally is a census under way.
type tally struct {
	records                              map[recordStatus]int64
	keys                                 map[domain.Family]int64
	codes                                CodeCount
	pending, residue, events, violations int64
}

type recordStatus struct {
	family domain.Family
	status string
}

func newTally() tally {
	return tally{records: map[recordStatus]int64{}, keys: map[domain.Family]int64{}}
}

// add counts a record and its keys.
func (t *tally) add(family domain.Family, status string, links []link) {
	t.records[recordStatus{family, status}]++
	for _, l := range links {
		t.keys[l.Family]++
	}
}

// code counts a device's user code.
func (t *tally) code(d *deviceRow, now time.Time) {
	switch {
	case d.UserCode.IsZero():
	case now.Before(*d.ExpiresAt):
		t.codes.Live++
	default:
		t.codes.Past++
	}
}

func (i *inspection) census() Census {
	t := i.tally
	c := Census{Codes: t.codes, Pending: t.pending, Residue: t.residue, Events: t.events, Violations: t.violations}
	for _, s := range statuses {
		for _, status := range s.of {
			c.Records = append(c.Records, RecordCount{s.family, status, t.records[recordStatus{s.family, status}]})
		}
	}
	for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode} {
		c.Keys = append(c.Keys, KeyCount{family, t.keys[family]})
	}
	return c
}
