package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// progress is a line that tells how far something is, written over and over. It
// is for a terminal, and shows nothing anywhere else.
type progress struct {
	out      io.Writer
	terminal bool
	width    int // of what stands there, in characters
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out)}
}

// show puts a line in the place of the one before.
func (p *progress) show(format string, args ...any) {
	if !p.terminal {
		return
	}
	line := fmt.Sprintf(format, args...)
	width := utf8.RuneCountInString(line)
	fmt.Fprint(p.out, "\r", line, strings.Repeat(" ", max(p.width-width, 0)))
	p.width = width
}

// clear takes the line away, so that something else can be written.
func (p *progress) clear() {
	if p.width > 0 {
		p.show("")
		fmt.Fprint(p.out, "\r")
		p.width = 0
	}
}

// bar draws how much of all is done; "" where nobody knows how much all is.
func bar(done, all int64) string {
	const cells = 20
	if all <= 0 {
		return ""
	}
	full := int(min(done*cells/all, cells))
	return fmt.Sprintf("[%s%s] %d %% ", strings.Repeat("#", full), strings.Repeat(".", cells-full), min(done*100/all, 100))
}
