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

// fileLines reads a file's lines as they are: what is wrong with one is for the
// API to say.
type fileLines struct {
	reader *bufio.Reader
	size   int64 // of the file; 0 if nobody knows it
	read   int64 // bytes
	line   int   // lines
}

func newFileLines(in io.Reader, size int64) *fileLines {
	return &fileLines{reader: bufio.NewReaderSize(in, 1<<20), size: size}
}

// skip passes over so many lines.
func (l *fileLines) skip(n int) error {
	for range n {
		switch line, err := l.next(); {
		case err != nil:
			return err
		case line == nil:
			return fmt.Errorf("there are only %d lines", l.line)
		}
	}
	return nil
}

// batch reads the next lines, each with its end; none behind the last.
func (l *fileLines) batch() (lines [][]byte, err error) {
	for size := 0; len(lines) < batchLines && size < batchBytes; {
		line, err := l.next()
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

// next is the next line with its end, or nil.
func (l *fileLines) next() ([]byte, error) {
	text, err := l.reader.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d: has more than 1 MiB", l.line+1)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line %d: %w", l.line+1, err)
	case len(text) == 0:
		return nil, nil
	}
	l.line++
	l.read += int64(len(text))
	line := bytes.Clone(text)
	if line[len(line)-1] != '\n' {
		line = append(line, '\n')
	}
	return line, nil
}
