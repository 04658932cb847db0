package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// A request of an import has at most so many lines, and bytes before its last:
// well within what the API takes, and done within a minute.
const (
	batchLines = 1000
	batchBytes = 4 << 20
)

// longestLine is how many bytes a line may have without its end, to be sent: far
// more than the API takes, and little to hold.
const longestLine = 1 << 20

// errLongLine is that the next line has more than longestLine.
var errLongLine = errors.New("the line is too long")

// fileLines reads a file's lines as they are: what is wrong with one is for the
// API to say.
type fileLines struct {
	reader *bufio.Reader
	size   int64  // of the file; 0 if nobody knows it
	read   int64  // bytes
	line   int    // lines
	long   []byte // the beginning of a line that is too long, whose rest is unread; else nil
}

func newFileLines(in io.Reader, size int64) *fileLines {
	return &fileLines{reader: bufio.NewReaderSize(in, longestLine+1), size: size}
}

// skip passes over so many lines.
func (l *fileLines) skip(n int) error {
	for range n {
		line, err := l.next()
		if errors.Is(err, errLongLine) {
			err = l.passLong(io.Discard)
		} else if err == nil && line == nil {
			return fmt.Errorf("there are only %d lines", l.line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// batch reads the next lines, each with its end; none behind the last, and none
// at a line that is too long.
func (l *fileLines) batch() (lines [][]byte, err error) {
	for size := 0; len(lines) < batchLines && size < batchBytes; {
		line, err := l.next()
		if errors.Is(err, errLongLine) {
			break
		}
		if err != nil {
			return nil, err
		}
		if line == nil {
			break
		}
		lines = append(lines, line)
		size += len(line)
	}
	return lines, nil
}

// next is the next line with its end, nil behind the last, or errLongLine until
// passLong has passed it.
func (l *fileLines) next() ([]byte, error) {
	if l.atLong() {
		return nil, errLongLine
	}
	text, err := l.reader.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		l.long = bytes.Clone(text)
		return nil, errLongLine
	case err != nil && !errors.Is(err, io.EOF):
		return nil, l.unreadable(err)
	case len(text) == 0:
		return nil, nil
	}
	l.line++
	l.read += int64(len(text))
	return ended(bytes.Clone(text)), nil
}

// atLong says whether the next line is too long.
func (l *fileLines) atLong() bool { return l.long != nil }

// passLong writes the line that is too long, with its end, a piece at a time: it
// may have any length.
func (l *fileLines) passLong(to io.Writer) error {
	piece, err := l.long, error(bufio.ErrBufferFull) // as next left it
	for errors.Is(err, bufio.ErrBufferFull) {
		l.read += int64(len(piece))
		if _, err := to.Write(piece); err != nil {
			return err
		}
		piece, err = l.reader.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return l.unreadable(err)
	}
	l.read += int64(len(piece))
	l.line++
	l.long = nil
	_, err = to.Write(ended(bytes.Clone(piece)))
	return err
}

func (l *fileLines) unreadable(err error) error { return fmt.Errorf("line %d: %w", l.line+1, err) }

// ended is a line with its end, which the last may lack.
func ended(line []byte) []byte {
	if bytes.HasSuffix(line, []byte("\n")) {
		return line
	}
	return append(line, '\n')
}
