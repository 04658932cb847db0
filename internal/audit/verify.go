package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
)

// maxLine is the longest line that is read, in bytes. Entries take about one KiB.
const maxLine = 1 << 20

// Verdict says how far a log holds.
type Verdict struct {
	First   int64     `json:"first"` // the number of the first entry; above 1 where older ones were cut off
	Last    int64     `json:"last"`  // of the last entry that holds; 0 for none
	Hash    Hash      `json:"hash,omitzero"`
	At      time.Time `json:"at,omitzero"`     // of the last entry that holds
	Unknown []int64   `json:"unknown"`         // acts that were begun and have no outcome
	Heads   int       `json:"heads"`           // that it was held to
	Older   int       `json:"older_heads"`     // of entries that were cut off, to which it can't be held
	Fault   *Fault    `json:"fault,omitempty"` // what is wrong; nil if nothing is
}

// Fault is where a log breaks, and how.
type Fault struct {
	Sequence int64  `json:"sequence"` // of the entry at fault
	Detail   string `json:"detail"`   // for people
}

func (f *Fault) Error() string { return fmt.Sprintf("entry %d: %s", f.Sequence, f.Detail) }

func broken(sequence int64, format string, args ...any) *Fault {
	return &Fault{sequence, fmt.Sprintf(format, args...)}
}

// Verify reads a whole log, an entry a line (NDJSON) as the API gives it, and holds it
// to its own chain and to heads that were kept elsewhere. It needs nothing else.
//
// What is wrong with the log is the verdict's fault, the first one; an error is one of
// reading. Without a head nothing shows that the last entries are gone.
func Verify(r io.Reader, heads []Head) (Verdict, error) {
	v := verifier{heads: heads, open: map[int64]Entry{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() && lines.Err() == nil { // where reading failed, Scan gives half a line first
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if fault := v.next(lines.Bytes()); fault != nil {
			return v.verdict(fault), nil
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return v.verdict(broken(v.last.Sequence+1, "it is longer than %d KiB", maxLine>>10)), nil
	} else if err != nil {
		return v.verdict(nil), err
	}
	return v.verdict(v.end()), nil
}

// verifier has read the log up to its last entry.
type verifier struct {
	heads []Head
	first int64
	last  Head
	cut   Cut  // what the first entry says of what was in front of it
	whole bool // and something accounts for that
	held  int
	open  map[int64]Entry // acts that were begun, without an outcome so far
	order []int64         // of open, and of some that are no longer
}

// notAnEntry doesn't repeat the decoder's words, which are about Go.
const notAnEntry = "the line is not an entry: it isn't a whole JSON object with the members of one"

// next takes one line.
func (v *verifier) next(line []byte) *Fault {
	expected := v.last.Sequence + 1
	text, shown, err := split(line)
	if err != nil {
		return broken(expected, notAnEntry)
	}
	var e Entry
	if err := json.Unmarshal(text, &e); err != nil {
		return broken(expected, notAnEntry)
	}
	if hash := Hash(sha256.Sum256(text)); hash != shown {
		return broken(e.Sequence, "it was changed: its hash is %s, and it shows %s", hash, shown)
	}
	if v.first == 0 {
		v.begin(e)
		expected = e.Sequence
	}
	switch {
	case e.Type != entryType:
		return broken(e.Sequence, "it is of the type %q, which is not known here", e.Type)
	case e.Sequence == v.last.Sequence && shown == v.last.Hash:
		return broken(e.Sequence, "it comes twice")
	case e.Sequence < expected:
		return broken(e.Sequence, "it comes again, or out of order: it stands behind %d", expected-1)
	case e.Sequence != expected:
		return broken(expected, "it is missing: the number %d comes behind %d", e.Sequence, expected-1)
	case e.Previous != v.last.Hash:
		return broken(e.Sequence, "it doesn't follow what is in front: it names the hash %s, and that is %s", e.Previous, v.last.Hash)
	case e.At.Before(v.last.At):
		return broken(e.Sequence, "its time is before that of the entry in front")
	}
	if fault := v.follow(e); fault != nil {
		return fault
	}
	v.last = Head{Sequence: e.Sequence, Hash: shown, At: e.At}
	return v.hold()
}

// begin takes what stands in front of the first entry as it says. Number 1 stands
// behind the root; of others an entry further on must tell that they were cut off.
func (v *verifier) begin(e Entry) {
	v.first, v.whole = e.Sequence, e.Sequence == 1
	v.cut = Cut{Through: e.Sequence - 1, Hash: e.Previous}
	v.last = Head{Sequence: e.Sequence - 1, Hash: e.Previous}
	if v.whole {
		v.last.Hash = root
	}
}

// follow holds the entry to those that it speaks of.
func (v *verifier) follow(e Entry) *Fault {
	switch {
	case e.Outcome == CutOff && e.Cut != nil && *e.Cut == v.cut:
		v.whole = true
	case e.Outcome == Begun:
		v.open[e.Sequence] = e
		v.order = append(v.order, e.Sequence)
	case e.Act >= v.first:
		begun, open := v.open[e.Act]
		if !open || begun.Operation != e.Operation || begun.Request != e.Request {
			return broken(e.Sequence, "it tells the outcome of entry %d, which began nothing that this could be the outcome of", e.Act)
		}
		delete(v.open, e.Act)
	}
	return nil
}

// hold holds the log to the heads at its last entry.
func (v *verifier) hold() *Fault {
	for _, head := range v.heads {
		if head.Sequence != v.last.Sequence {
			continue
		}
		if head.Hash != v.last.Hash {
			return broken(head.Sequence, "it had another hash when the head was kept: %s", head.Hash)
		}
		v.held++
	}
	return nil
}

// end tells what only the whole can.
func (v *verifier) end() *Fault {
	if v.first == 0 {
		return broken(1, "there is no entry")
	}
	if !v.whole {
		return broken(v.first, "those in front of it are missing, and no entry says that they were cut off")
	}
	for _, head := range v.heads {
		switch {
		case head.Sequence > v.last.Sequence:
			return broken(v.last.Sequence+1, "it is missing: the log ended with number %d when the head was kept", head.Sequence)
		case head.Sequence == v.cut.Through && head.Sequence > 0 && head.Hash != v.cut.Hash:
			return broken(head.Sequence, "it was cut off with another hash than it had when the head was kept: %s", head.Hash)
		}
	}
	return nil
}

func (v *verifier) verdict(fault *Fault) Verdict {
	verdict := Verdict{First: v.first, Last: v.last.Sequence, Hash: v.last.Hash, At: v.last.At, Unknown: []int64{}, Heads: v.held, Fault: fault}
	for _, act := range v.order {
		if _, open := v.open[act]; open {
			verdict.Unknown = append(verdict.Unknown, act)
		}
	}
	for _, head := range v.heads {
		if head.Sequence < v.first {
			verdict.Older++
		}
	}
	return verdict
}
