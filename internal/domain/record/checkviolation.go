package record

import "github.com/holdfast-dev/holdfast/internal/domain"

// Violation is something in the databases or the bucket that must never be.
type Violation struct {
	Kind       ViolationKind `json:"kind"`
	Database   string        `json:"database"` // where the row stands that is wrong
	Number     domain.Number `json:"number"`
	Collection string        `json:"collection"` // its name; its id where there is no such collection
	Key        string        `json:"key,omitzero"`
	Section    string        `json:"section,omitzero"`
	ID         string        `json:"id,omitzero"` // of an operation or a batch, or a fence's key
	Detail     string        `json:"detail"`      // what is wrong and what to do, in plain words
}

// ViolationKind says which promise is broken. Kinds may be added.
type ViolationKind string

// What is wrong with where rows stand, and with collections.
const (
	WrongBucket       ViolationKind = "wrong_bucket"       // a row stands in a number that its collection's name doesn't have
	WrongDatabase     ViolationKind = "wrong_database"     // a row stands on a database that doesn't own its number
	CollectionMissing ViolationKind = "collection_missing" // rows of a collection that isn't there
	CollectionWrong   ViolationKind = "collection_wrong"   // a collection's row says what none may say
	CounterBehind     ViolationKind = "counter_behind"     // something was counted that the collection's counter doesn't know of
)

// What is wrong with records and their sections.
const (
	RecordMissing    ViolationKind = "record_missing"     // rows under a key that has no record
	RecordEmpty      ViolationKind = "record_empty"       // a record has no section, not even a tombstone
	RecordDiffers    ViolationKind = "record_differs"     // a record's row isn't what its sections come to
	PrimaryTwice     ViolationKind = "primary_twice"      // two primaries are live
	CompanionAlone   ViolationKind = "companion_alone"    // a companion is live, and no primary that it accompanies
	SectionUnknown   ViolationKind = "section_unknown"    // the profile has no such section
	SectionTwice     ViolationKind = "section_twice"      // a section stands in both formats
	SectionMisplaced ViolationKind = "section_misplaced"  // a section stands in the other format than its collection, which is sealed
	DescriptorWrong  ViolationKind = "descriptor_wrong"   // a section's row contradicts itself
	ChunksWrong      ViolationKind = "chunks_wrong"       // a body's chunks aren't what its row says
	ChunksStray      ViolationKind = "chunks_stray"       // chunks of a body that has none
	IdentityTwice    ViolationKind = "row_identity_twice" // two rows have the same identity
)

// What is wrong with bodies. A body that can't be read just now proves nothing: it
// may be there, and is counted apart.
const (
	BodyMissing     ViolationKind = "body_missing"     // there is nothing where a live section's body belongs
	BodyCorrupt     ViolationKind = "body_corrupt"     // a body isn't what its digest says
	BodyUnreachable ViolationKind = "body_unreachable" // the object store didn't answer
)

// What is wrong with what stands beside the records.
const (
	ExportMissing ViolationKind = "export_entry_missing" // a section isn't in the export where its last change was
	ExportStray   ViolationKind = "export_entry_stray"   // the export has what no section is
	ExportTwice   ViolationKind = "export_entry_twice"   // two changes have the same place in the export
	ExportShort   ViolationKind = "export_short"         // the export ends before its collection's last change
	FenceWrong    ViolationKind = "fence_wrong"          // a fence of a record that isn't there
	ClaimWrong    ViolationKind = "claim_wrong"          // a claim isn't that of a batch's unfinished item
	ClaimMissing  ViolationKind = "claim_missing"        // a batch's unfinished item has lost its claim before its time
	BatchWrong    ViolationKind = "batch_wrong"          // a batch and its items contradict each other
	ReceiptWrong  ViolationKind = "receipt_wrong"        // a receipt can't be one
)

func (v Violation) of(kind ViolationKind, detail string) Violation {
	v.Kind, v.Detail = kind, detail
	return v
}

func (v Violation) under(key string) Violation {
	v.Key = key
	return v
}

func (v Violation) in(section string) Violation {
	v.Section = section
	return v
}

func (v Violation) with(id string) Violation {
	v.ID = id
	return v
}
