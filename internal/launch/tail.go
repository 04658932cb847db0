package launch

import (
	"bytes"
	"io"
	"sync"
)

const (
	tailLines = 10
	tailBytes = 4096
)

// tail passes what is written on to a log, one write at a time, and keeps the
// last of it: at most tailLines lines and tailBytes bytes.
type tail struct {
	mu   sync.Mutex
	log  io.Writer
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-tailBytes):]...)
	t.kept = append([]byte(nil), t.kept[max(0, len(t.kept)-tailBytes):]...)
	return t.log.Write(p)
}

// String is the last lines, without the newline at their end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimRight(t.kept, "\n"), []byte("\n"))
	last := bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n"))
	return string(bytes.ToValidUTF8(last, nil)) // the first line may begin inside a character
}
