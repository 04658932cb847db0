package identity

import "github.com/holdfast-dev/holdfast/internal/domain"

// Violation is something in the databases that must never be. It names rows by
// ids and buckets, and holds nothing personal.
type Violation struct {
	Kind     ViolationKind   `json:"kind"`
	Database string          `json:"database"`        // where the row stands that is wrong
	Family   domain.Family   `json:"family"`          // of that row, and its partition's
	Number   domain.Number   `json:"number"`          // likewise
	Record   domain.RecordID `json:"record,omitzero"` // the account or device that is concerned; zero if none is
	Detail   string          `json:"detail"`          // what is wrong and what to do, in plain words
}

// Bucket is the partition of the row that is wrong, by name:
// "identity-v1/handle/07".
func (v Violation) Bucket() string {
	return domain.Partition{Family: v.Family, Number: v.Number}.Bucket()
}

// ViolationKind says which promise is broken. Kinds may be added.
type ViolationKind string

const (
	WrongBucket     ViolationKind = "wrong_bucket"     // a row stands in a number that its key doesn't have
	WrongDatabase   ViolationKind = "wrong_database"   // a row stands on a database that doesn't own its number
	KeyUnclaimed    ViolationKind = "key_unclaimed"    // a record has a key that no claim gives to it under its token
	WrongOwner      ViolationKind = "wrong_owner"      // a claim belongs to a record of a kind that can't have such a key
	LinkMissing     ViolationKind = "link_missing"     // an approved device isn't among its account's
	AccountMissing  ViolationKind = "account_missing"  // a pending change or a link stands beside no account
	RecordMissing   ViolationKind = "record_missing"   // events tell of a record that isn't there and wasn't removed
	TombstoneSpeaks ViolationKind = "tombstone_speaks" // a deleted account still holds something personal
	EventsMissing   ViolationKind = "events_missing"   // a record's events don't run without a gap to its revision
	StreamBroken    ViolationKind = "stream_broken"    // a number's events aren't dense, or don't end at its counter
	WrongOperation  ViolationKind = "wrong_operation"  // an operation that its record can't have
)
