package httpapi

import "github.com/holdfast-dev/holdfast/internal/domain"

// How many rows a page has, at most.
const (
	defaultPage = 50
	maxPage     = 200
)

// pageSize moves what a caller asked for into bounds.
func pageSize(limit *int64) int {
	if limit == nil {
		return defaultPage
	}
	return int(min(max(*limit, 1), maxPage))
}

// resume reads where a list goes on: the zero position without a cursor.
func resume[P any](c cursors, l listing, cursor *string, parse func([]byte) (P, error)) (P, error) {
	var start P
	if cursor == nil {
		return start, nil
	}
	position, err := c.open(l, *cursor)
	if err != nil {
		return start, err
	}
	return parse(position)
}

// byName is the position in a list that is ordered by name.
func byName(position []byte) (string, error) { return string(position), nil }

// byID is the position in a list that is ordered by id.
func byID[Kind any](position []byte) (id domain.ID[Kind], err error) {
	if len(position) != len(id) {
		return id, errCursor()
	}
	copy(id[:], position)
	return id, nil
}

// nextCursor is where the list goes on behind last; nil on the last page.
func nextCursor(c cursors, l listing, more bool, last []byte) *string {
	if !more {
		return nil
	}
	cursor := c.seal(l, last)
	return &cursor
}

// lastName is the position behind a page that is ordered by name.
func lastName[T any](page []T, name func(T) string) []byte {
	if len(page) == 0 {
		return nil
	}
	return []byte(name(page[len(page)-1]))
}
