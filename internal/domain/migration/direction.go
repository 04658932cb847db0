package migration

import "github.com/holdfast-dev/holdfast/internal/domain/record"

// direction is which way a migration takes bodies, and what is asked of the format
// that they leave.
type direction struct {
	from, to int16
	left     string // SQL: whether a collection has any row there
	forget   string // SQL: removes deferrals of sections that have no row there any more
}

func (k Kind) direction() direction {
	if k == Rehydrate {
		return direction{record.FormatStore, record.FormatSQL, sqlLeftInStore, sqlForgetRehydrated}
	}
	return direction{record.FormatSQL, record.FormatStore, sqlLeftInSQL, sqlForgetResolved}
}

// cursor is where the sweep is that goes on.
func (c *Checkpoint) cursor() record.Cursor { return record.Cursor{Row: c.AfterRow, Key: c.AfterKey} }

func (c *Checkpoint) goTo(at record.Cursor) { c.AfterRow, c.AfterKey = at.Row, at.Key }
