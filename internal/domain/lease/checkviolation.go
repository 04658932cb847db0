package lease

import "github.com/holdfast-dev/holdfast/internal/domain"

// Violation is something in the databases that must never be. It names a world and a
// position, and holds nothing that a tenant wrote.
type Violation struct {
	Kind     ViolationKind `json:"kind"`
	Database string        `json:"database"` // where the row stands that is wrong
	Number   domain.Number `json:"number"`
	World    string        `json:"world"`
	Position int64         `json:"position,omitzero"` // of the entry that is concerned; 0 if none is
	Detail   string        `json:"detail"`            // what is wrong and what to do, in plain words
}

// ViolationKind says which promise is broken. Kinds may be added.
type ViolationKind string

const (
	WrongBucket         ViolationKind = "wrong_bucket"         // a row stands in a number that its world's id doesn't have
	WrongDatabase       ViolationKind = "wrong_database"       // a row stands on a database that doesn't own its number
	HeadMissing         ViolationKind = "head_missing"         // rows of a world that has no head
	JournalBroken       ViolationKind = "journal_broken"       // an entry breaks the journal's rules
	JournalShort        ViolationKind = "journal_short"        // the journal ends before its head
	JournalLong         ViolationKind = "journal_long"         // entries stand behind the head
	HeadDiffers         ViolationKind = "head_differs"         // the head isn't what its journal comes to
	EntryIDWrong        ViolationKind = "entry_id_wrong"       // an entry's id leads elsewhere
	EpochWrong          ViolationKind = "epoch_wrong"          // an epoch leads elsewhere than to the entry that began it
	RejectionsForgotten ViolationKind = "rejections_forgotten" // rejections are counted and the head doesn't know
	RejectionsTwice     ViolationKind = "rejections_twice"     // two entries count the same rejections
	LineForgotten       ViolationKind = "line_forgotten"       // somebody stands in line and the head doesn't know
	CheckpointBroken    ViolationKind = "checkpoint_broken"    // a signed checkpoint doesn't hold
)

func (v Violation) of(kind ViolationKind, detail string) Violation {
	v.Kind, v.Detail = kind, detail
	return v
}

func (v Violation) at(position int64) Violation {
	v.Position = position
	return v
}
