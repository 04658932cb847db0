package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
)

// How many entries a reading has, at most. Those of one page are read at once.
const (
	defaultEntries = 100
	maxEntries     = 1000
	maxEntryLines  = 100_000
)

// ReadJournal serves GET /v1/worlds/{world_id}/journal.
func (s *server) ReadJournal(ctx context.Context, request ReadJournalRequestObject) (ReadJournalResponseObject, error) {
	read := func(after, limit int64) (lease.EntryPage, error) {
		return s.coordinator.Entries(ctx, caller(ctx), request.WorldID, after, int(min(limit, maxEntries)))
	}
	asLines := accepts(callOf(ctx).accept, mediaNDJSON)
	most, limit := int64(maxEntries), int64(defaultEntries)
	if asLines {
		most, limit = maxEntryLines, maxEntryLines
	}
	if asked := request.Params.Limit; asked != nil {
		limit = min(max(*asked, 1), most)
	}
	page, err := read(orZero(request.Params.After), limit)
	switch {
	case err != nil:
		return nil, err
	case asLines:
		return &journalLines{read, page, limit}, nil
	}
	return journalPage(page), nil
}

// journalPage is a page of entries. It is its own response: entries are given to
// the letter, as they can be verified.
type journalPage lease.EntryPage

// VisitReadJournalResponse writes the page.
func (p journalPage) VisitReadJournalResponse(w http.ResponseWriter) error {
	text := []byte(`{"entries":[`)
	for i := range p.Entries {
		if i > 0 {
			text = append(text, ',')
		}
		text = p.Entries[i].AppendJSON(text)
	}
	text = append(text, `],"position":`...)
	text = strconv.AppendInt(text, p.Position, 10)
	text = append(text, `,"more":`...)
	text = strconv.AppendBool(text, p.More)
	setMedia(w, mediaJSON)
	_, err := w.Write(append(text, '}'))
	return err
}

// journalLines are entries, one a line. They are read page by page while they are
// written, so that no more of them is in memory than one page.
type journalLines struct {
	read  func(after, limit int64) (lease.EntryPage, error)
	first lease.EntryPage
	limit int64
}

// writeAtOnce is how much of a page is written at once, in bytes.
const writeAtOnce = 64 << 10

// VisitReadJournalResponse writes the lines. After an error they are cut off, so
// that nobody takes those that came for all.
func (l *journalLines) VisitReadJournalResponse(w http.ResponseWriter) error {
	setMedia(w, mediaNDJSON)
	w.WriteHeader(http.StatusOK)
	text := make([]byte, 0, writeAtOnce)
	page, left := l.first, l.limit
	for {
		for i := range page.Entries {
			text = append(page.Entries[i].AppendJSON(text), '\n')
			if len(text) < writeAtOnce && i < len(page.Entries)-1 {
				continue
			}
			if _, err := w.Write(text); err != nil {
				return err
			}
			text = text[:0]
		}
		n := len(page.Entries)
		if left -= int64(n); n == 0 || left == 0 || !page.More {
			return nil
		}
		var err error
		if page, err = l.read(page.Entries[n-1].Position, left); err != nil {
			return err
		}
	}
}

// setMedia says what an answer is, and that the request's Accept chose it.
func setMedia(w http.ResponseWriter, media string) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Vary", "Accept")
}
