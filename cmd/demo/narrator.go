package main

import (
	"fmt"
	"io"
	"time"
)

// narrator tells what happens, and how long it took.
type narrator struct {
	out   io.Writer
	began time.Time
	told  int // steps
}

// chapter begins a part of the story.
func (n *narrator) chapter(title string) {
	if n.began.IsZero() {
		n.began = time.Now()
	}
	fmt.Fprintf(n.out, "\n%s\n", title)
}

// step does something and tells that it came out right, or why it didn't.
func (n *narrator) step(what string, do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	mark := "ok "
	if err != nil {
		mark = "NO "
	}
	fmt.Fprintf(n.out, "  %s %-82s %8s\n", mark, what, round(took))
	n.told++
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// step is something to do, and to tell of.
type step struct {
	what string
	do   func() error
}

// steps does one after the other, up to the first that doesn't come out right.
func (n *narrator) steps(steps []step) error {
	for _, s := range steps {
		if err := n.step(s.what, s.do); err != nil {
			return err
		}
	}
	return nil
}

// note adds a word to the step before.
func (n *narrator) note(format string, args ...any) {
	fmt.Fprintf(n.out, "      "+format+"\n", args...)
}

func (n *narrator) end() {
	fmt.Fprintf(n.out, "\nAll %d answers were right, in %s.\n", n.told, round(time.Since(n.began)))
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(10 * time.Millisecond)
}
