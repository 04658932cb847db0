package record

import "fmt"

// BodyError is a failure to bring a section's body to where it goes, with whose it
// is.
type BodyError struct {
	Key, Section string
	Err          error
}

func (e *BodyError) Error() string {
	return fmt.Sprintf("section %s of %q: %v", e.Section, e.Key, e.Err)
}

func (e *BodyError) Unwrap() error { return e.Err }
