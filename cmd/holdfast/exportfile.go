package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// longestExportLine is more than any line has: a journal entry's payload is at most
// 1 MiB, in base64.
const longestExportLine = 4 << 20

// exportFile is the lines of an export on their way to a file. What is behind the last
// cursor is written over by the next stream.
type exportFile struct {
	file   *os.File
	cursor *string // to go on from; nil for the beginning
	kept   int64   // bytes up to and with the last cursor's line, or the end's
	lines  int64   // up to there
	ended  bool
	made   time.Time // when the file was written last, as it was found
}

// exportLine is what is looked at of a line.
type exportLine struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

var errOthersExport = errors.New("the directory has the export of another tenant")

// openExport opens or makes the file, and finds where to go on. A file that has another
// tenant's lines is refused.
func openExport(path, tenant string) (*exportFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	e := &exportFile{file: file, made: info.ModTime()}
	if err := e.resume(tenant); err != nil {
		file.Close()
		return nil, err
	}
	return e, nil
}

// resume reads what is there, line by line.
func (e *exportFile) resume(tenant string) error {
	var at, lines int64
	reader := bufio.NewReaderSize(e.file, longestExportLine)
	for {
		text, err := reader.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break // without its end it is no line
		}
		if err != nil {
			return fmt.Errorf("%s is not an export: %w", e.file.Name(), err)
		}
		at += int64(len(text))
		line, err := e.note(text, at, &lines)
		if err != nil {
			return fmt.Errorf("%s is not an export: %w", e.file.Name(), err)
		}
		if err := ofTenant(line, tenant); err != nil {
			return err
		}
	}
	return e.rewind()
}

func ofTenant(line exportLine, tenant string) error {
	if line.Kind != "tenant" {
		return nil
	}
	var data struct {
		ID string `json:"tenant_id"`
	}
	if err := json.Unmarshal(line.Data, &data); err != nil || data.ID != tenant {
		return errOthersExport
	}
	return nil
}

// rewind drops what is behind the last cursor.
func (e *exportFile) rewind() error {
	info, err := e.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != e.kept { // or a whole one would look as if it were made now
		if err := e.file.Truncate(e.kept); err != nil {
			return err
		}
	}
	_, err = e.file.Seek(e.kept, io.SeekStart)
	return err
}

// note looks at a line that ends at a place in the file.
func (e *exportFile) note(text []byte, end int64, lines *int64) (line exportLine, err error) {
	if err := json.Unmarshal(text, &line); err != nil || line.Kind == "" {
		return exportLine{}, errors.New("a line of it is not one of an export's")
	}
	*lines++
	switch line.Kind {
	case "cursor":
		var data struct {
			Cursor string `json:"cursor"`
		}
		if err := json.Unmarshal(line.Data, &data); err != nil {
			return exportLine{}, err
		}
		e.cursor, e.kept, e.lines = &data.Cursor, end, *lines
	case "end":
		e.ended, e.kept, e.lines = true, end, *lines
	}
	return line, nil
}

// take writes the lines of a stream behind what is kept, and tells of each page.
func (e *exportFile) take(stream io.Reader, told func()) error {
	if err := e.rewind(); err != nil {
		return err
	}
	at, lines := e.kept, e.lines
	reader, writer := bufio.NewReaderSize(stream, longestExportLine), bufio.NewWriter(e.file)
	for !e.ended {
		text, err := reader.ReadSlice('\n')
		if err != nil {
			return errors.Join(writer.Flush(), err)
		}
		if _, err := writer.Write(text); err != nil {
			return err
		}
		at += int64(len(text))
		line, err := e.note(text, at, &lines)
		if err != nil {
			return err
		}
		if line.Kind == "cursor" || line.Kind == "end" {
			if err := writer.Flush(); err != nil {
				return err
			}
			told()
		}
	}
	return e.file.Sync()
}

func (e *exportFile) close() { e.file.Close() } // what counts was synced

// sections calls fn for each live section that the lines tell of.
func (e *exportFile) sections(fn func(exportedSection) error) error {
	if _, err := e.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(e.file, longestExportLine)
	for {
		text, err := reader.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var line exportLine
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		if line.Kind != "section" {
			continue
		}
		var section exportedSection
		if err := json.Unmarshal(line.Data, &section); err != nil {
			return err
		}
		if !section.Live {
			continue
		}
		if err := fn(section); err != nil {
			return err
		}
	}
}
