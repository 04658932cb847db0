package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// errReaderGone is for a reader that takes nothing any more.
var errReaderGone = errors.New("the reader has gone, or is too slow")

// eventWriter writes to a reader, who may take nothing for a pause and no longer.
type eventWriter struct {
	writer  io.Writer
	control *http.ResponseController
	pause   time.Duration
	buffer  []byte
}

// write sends text at once.
func (w *eventWriter) write(text string) error { return w.send([]byte(text)) }

// writeEntries sends the entries as events, at once.
func (w *eventWriter) writeEntries(entries []journal.Entry) error {
	w.buffer = w.buffer[:0]
	for i := range entries {
		w.buffer = appendEvent(w.buffer, &entries[i])
		if len(w.buffer) < writeAtOnce && i < len(entries)-1 {
			continue
		}
		if err := w.send(w.buffer); err != nil {
			return err
		}
		w.buffer = w.buffer[:0]
	}
	if cap(w.buffer) > 2*writeAtOnce {
		w.buffer = nil // it was for a large entry, and the stream may be idle for long
	}
	return nil
}

// appendEvent appends an entry as an event. Neither a kind nor an entry's JSON has a
// line break.
func appendEvent(text []byte, e *journal.Entry) []byte {
	text = append(text, "id: "...)
	text = strconv.AppendInt(text, e.Position, 10)
	text = append(append(text, "\nevent: "...), e.Kind...)
	text = append(text, "\ndata: "...)
	return append(e.AppendJSON(text), "\n\n"...)
}

func (w *eventWriter) send(text []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.pause)) // a test's recorder has none
	if _, err := w.writer.Write(text); err != nil {
		return fmt.Errorf("%w: %w", errReaderGone, err)
	}
	if err := w.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errReaderGone, err)
	}
	return nil
}
