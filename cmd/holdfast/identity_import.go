package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newIdentityImport(r *remote) *cobra.Command {
	var from int
	var failedTo string
	command := &cobra.Command{
		Use:   "import FILE",
		Short: "Import accounts and devices from a file, or - for the standard input",
		Long: "Import accounts and devices from a file, or - for the standard input, as the principal of a tenant\n" +
			"whose key is in HOLDFAST_API_KEY. A line is an ImportLine of the API's description:\n\n" +
			"  {\"key\": \"user-1\", \"account\": {\"handle\": \"ada\", \"email\": \"ada@example.com\"}}\n" +
			"  {\"key\": \"tv-1\", \"device\": {\"status\": \"approved\", \"account_key\": \"user-1\"}}\n\n" +
			"A line that failed is told and stops no other; the command then ends with code 1. What is there\n" +
			"already is not made again, so a file may be sent again whole, or from the line where it broke off.\n" +
			"With --json it prints an object a line: each failed line's result as the API gives it, and at the end,\n" +
			"also where it broke off, the sum with the line to go on with.",
		Args: arguments("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			if from < 1 {
				return exitError{exitUsage, fmt.Errorf("--from-line %d: lines count from 1", from)}
			}
			api, err := r.connect()
			if err != nil {
				return err
			}
			in, err := openInput(args[0], command.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			f := &fileImport{
				api: api, lines: newFileLines(&interruptible{ctx: command.Context(), in: in}, in.size()), from: from,
				progress: newProgress(command.ErrOrStderr()), began: time.Now(),
				out: command.OutOrStdout(), failed: io.Discard, asJSON: r.asJSON,
			}
			defer f.progress.clear()
			if failedTo == "" {
				return f.run(command.Context())
			}
			failed, err := openFailed(failedTo, in, from)
			if err != nil {
				return err
			}
			f.failed = failed
			return errors.Join(f.run(command.Context()), failed.Close())
		},
	}
	command.Flags().IntVar(&from, "from-line", 1, "the line to begin with")
	command.Flags().StringVar(&failedTo, "failed", "", "a file for the lines that failed, to be corrected and imported again; with --from-line they are added to it")
	return command
}

// fileImport is one run of the command.
type fileImport struct {
	api      caller
	lines    *fileLines
	from     int
	progress *progress
	began    time.Time
	out      io.Writer
	failed   io.Writer // for the lines that failed, as they were
	asJSON   bool

	sum importSum
}

// importSum is what an import came to.
type importSum struct {
	Created  int `json:"created"`
	Exists   int `json:"exists"`
	Failed   int `json:"failed"`
	NextLine int `json:"next_line"` // behind the last that has a result
}

func (f *fileImport) run(ctx context.Context) error {
	f.sum.NextLine = f.from
	err := f.lines.skip(f.from - 1)
	switch {
	case err == nil:
		err = f.all(ctx)
	case ctx.Err() == nil:
		return err
	}
	f.progress.clear()
	concluded := f.conclude() // a script needs the next line most where the import broke off
	switch {
	case err != nil:
		return f.brokenOff(ctx, err)
	case concluded != nil:
		return concluded
	case f.sum.Failed > 0:
		return fmt.Errorf("%d of %d lines failed", f.sum.Failed, f.sum.NextLine-f.from)
	}
	return nil
}

// all imports the lines that are left.
func (f *fileImport) all(ctx context.Context) error {
	for {
		lines, err := f.lines.batch()
		switch {
		case err != nil:
			return err
		case len(lines) > 0:
			err = f.send(ctx, lines)
		case f.lines.atLong():
			err = f.refuse()
		default:
			return nil
		}
		if err != nil {
			return plain(f.api.url, err)
		}
		f.progress.show("%s%d created, %d exist, %d failed, %.0f lines a second", bar(f.lines.read, f.lines.size),
			f.sum.Created, f.sum.Exists, f.sum.Failed, float64(f.sum.NextLine-f.from)/time.Since(f.began).Seconds())
	}
}

// brokenOff says where to go on. A batch under way may have been imported, of
// which sending it again does nothing more.
func (f *fileImport) brokenOff(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if f.sum.NextLine == f.from {
		return fmt.Errorf("%w\nNo line has a result yet: begin again with --from-line %d", err, f.from)
	}
	return fmt.Errorf("%w\nThe lines before %d have their results: go on with --from-line %[2]d", err, f.sum.NextLine)
}

// send imports one batch, and tells what failed.
func (f *fileImport) send(ctx context.Context, lines [][]byte) error {
	response, err := holdfast.SendImport(ctx, f.api.ClientWithResponses, bytes.Join(lines, nil))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	first := f.sum.NextLine
	for i, line := range lines {
		var result holdfast.ImportResult
		if err := decoder.Decode(&result); err != nil {
			return fmt.Errorf("of %d lines, %d had a result: %w", len(lines), i, err)
		}
		result.Line = first + i
		switch result.Result {
		case "created":
			f.sum.Created++
		case "exists":
			f.sum.Exists++
		default:
			if _, err := f.failed.Write(line); err != nil {
				return err
			}
			if err := f.tell(result); err != nil {
				return err
			}
		}
		f.sum.NextLine = result.Line + 1
	}
	return nil
}

// refuse fails a line that is too long to be sent, as the API does with one that
// is too long for it.
func (f *fileImport) refuse() error {
	if err := f.lines.passLong(f.failed); err != nil {
		return err
	}
	err := f.tell(holdfast.ImportResult{Line: f.sum.NextLine, Result: "failed", Error: &holdfast.ImportError{
		Code: "line_too_long", Detail: fmt.Sprintf("The line has more than %d KiB, and was not sent.", longestLine>>10),
	}})
	if err != nil {
		return err
	}
	f.sum.NextLine++
	return nil
}

// tell counts a line that failed, and shows why.
func (f *fileImport) tell(result holdfast.ImportResult) error {
	f.progress.clear()
	f.sum.Failed++
	if f.asJSON {
		return json.NewEncoder(f.out).Encode(result)
	}
	_, err := fmt.Fprintln(f.out, failure(result))
	return err
}

func (f *fileImport) conclude() error {
	if f.asJSON {
		return json.NewEncoder(f.out).Encode(f.sum)
	}
	_, err := fmt.Fprintf(f.out, "%d created, %d there already, %d failed.\n", f.sum.Created, f.sum.Exists, f.sum.Failed)
	return err
}
