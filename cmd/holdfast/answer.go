package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// answer is what a command prints: a value for scripts, and the same for people.
type answer struct {
	value   any                   // nil where there is nothing to tell but that it is done
	write   func(io.Writer) error // for people
	differs bool                  // what was asked about is not as it should be
	later   bool                  // what was asked about is sound, and not at its end
}

func (a answer) print(out io.Writer, asJSON bool) error {
	switch {
	case !asJSON:
		return a.write(out)
	case a.value == nil:
		return nil
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(a.value)
}

// said is an answer of one line, with no more to it.
func said(line string) answer {
	return answer{write: func(out io.Writer) error {
		_, err := fmt.Fprintln(out, line)
		return err
	}}
}

// view shows things of one kind: a column, or a line, a field.
type view[T any] []field[T]

type field[T any] struct {
	name string
	of   func(T) string
}

// table shows things in lines under the names of the fields.
func (v view[T]) table(things []T) answer {
	return answer{value: things, write: func(out io.Writer) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for i, f := range v {
			fmt.Fprint(table, f.name, v.end(i))
		}
		for _, thing := range things {
			for i, f := range v {
				fmt.Fprint(table, f.of(thing), v.end(i))
			}
		}
		return table.Flush()
	}}
}

// end is what follows a field in a line.
func (v view[T]) end(i int) string {
	if i == len(v)-1 {
		return "\n"
	}
	return "\t"
}

// one shows a single thing, a line a field.
func (v view[T]) one(thing T) answer {
	return answer{value: thing, write: func(out io.Writer) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, f := range v {
			fmt.Fprintf(table, "%s\t%s\n", f.name, f.of(thing))
		}
		return table.Flush()
	}}
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// whenever is for what may not have happened, or never will.
func whenever(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return when(*t)
}
