package holdfast

import "fmt"

// What became of a publication, in Receipt.Outcome, PublicationResult.Outcome and
// CompletedItem.Outcome.
const (
	OutcomePublished    = "published"
	OutcomeDeduplicated = "deduplicated"  // the same stood under its fence already
	OutcomeSuperseded   = "superseded"    // a newer revision stands under its fence, so nothing was changed
	OutcomeConflict     = "conflict"      // of one of many: the record isn't as expected
	OutcomeLeaseExpired = "lease_expired" // of a batch's item: its claim was over, so nothing was published
)

// RecordConflictError says that a record isn't as a publication expects it:
// revision_stale, record_exists or digest_mismatch. Nothing was published.
type RecordConflictError struct {
	Record Record // as it stands
	Err    *Error // the answer
}

func (e *RecordConflictError) Error() string {
	return fmt.Sprintf("%v; the record is at revision %d", e.Err, e.Record.Revision)
}

// Unwrap gives the answer, for IsCode.
func (e *RecordConflictError) Unwrap() error { return e.Err }

// UnverifiedBodyError says that what came isn't the body that it was said to be, or
// not all of it. None of it may be used, whatever was written already. It may have
// been changed on its way; another try may bring the right one.
type UnverifiedBodyError struct {
	Key     ItemKey     // "" for a snapshot's part
	Section SectionName // likewise
	Digest  Digest      // that it was said to have
	Reason  error
}

func (e *UnverifiedBodyError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("holdfast: what was downloaded can't be used: %v", e.Reason)
	}
	return fmt.Sprintf("holdfast: the body of section %s of %q can't be used: %v", e.Section, e.Key, e.Reason)
}

// Unwrap gives the reason.
func (e *UnverifiedBodyError) Unwrap() error { return e.Reason }
