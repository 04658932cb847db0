package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
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
			"With --json it prints an object a line: each failed line's result as the API gives it, and at the end the sum.",
		Args: arguments("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			if from < 1 {
				return exitError{exitUsage, fmt.Errorf("--from-line %d: lines count from 1", from)}
			}
			api, err := r.connect()
			if err != nil {
				return err
			}
			in, size, err := openInput(args[0], command.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			f := &fileImport{
				api: api, lines: newFileLines(in, size), from: from,
				progress: newProgress(command.ErrOrStderr()), began: time.Now(),
				out: command.OutOrStdout(), asJSON: r.asJSON,
			}
			defer f.progress.clear()
			if failedTo != "" {
				failed, err := os.Create(failedTo)
				if err != nil {
					return err
				}
				defer failed.Close()
				f.failed = failed
			}
			return f.run(command.Context())
		},
	}
	command.Flags().IntVar(&from, "from-line", 1, "the line to begin with")
	command.Flags().StringVar(&failedTo, "failed", "", "a file for the lines that failed, to be corrected and imported again")
	return command
}

// openInput opens a file, and tells its size; 0 if nobody knows it.
func openInput(name string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(stdin), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file, 0, err
	}
	return file, info.Size(), nil
}

// fileImport is one run of the command.
type fileImport struct {
	api      caller
	lines    *fileLines
	from     int
	progress *progress
	began    time.Time
	out      io.Writer
	failed   io.Writer // for the lines that failed, as they were; nil for none
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
	if err := f.lines.skip(f.from - 1); err != nil {
		return err
	}
	for {
		lines, err := f.lines.batch()
		if err != nil {
			return f.brokenOff(err)
		}
		if len(lines) == 0 {
			break
		}
		if err := f.send(ctx, lines); err != nil {
			return f.brokenOff(plain(f.api.url, err))
		}
		f.progress.show("%s%d created, %d exist, %d failed, %.0f lines a second", bar(f.lines.read, f.lines.size),
			f.sum.Created, f.sum.Exists, f.sum.Failed, float64(f.sum.NextLine-f.from)/time.Since(f.began).Seconds())
	}
	f.progress.clear()
	if err := f.conclude(); err != nil {
		return err
	}
	if f.sum.Failed > 0 {
		return fmt.Errorf("%d of %d lines failed", f.sum.Failed, f.sum.NextLine-f.from)
	}
	return nil
}

func (f *fileImport) brokenOff(err error) error {
	return fmt.Errorf("%w\nThe lines before %d have their results: go on with --from-line %[2]d", err, f.sum.NextLine)
}

// send imports one batch, and tells what failed.
func (f *fileImport) send(ctx context.Context, lines [][]byte) error {
	response, err := f.api.ImportAccountsWithBody(ctx, "application/x-ndjson", bytes.NewReader(bytes.Join(lines, nil)))
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
		f.sum.NextLine = result.Line + 1
		switch result.Result {
		case "created":
			f.sum.Created++
		case "exists":
			f.sum.Exists++
		default:
			f.sum.Failed++
			if err := f.tell(result, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell shows why a line failed, and keeps it.
func (f *fileImport) tell(result holdfast.ImportResult, line []byte) error {
	f.progress.clear()
	if f.failed != nil {
		if _, err := f.failed.Write(line); err != nil {
			return err
		}
	}
	if f.asJSON {
		return json.NewEncoder(f.out).Encode(result)
	}
	_, err := fmt.Fprintln(f.out, failure(result))
	return err
}

func failure(result holdfast.ImportResult) string {
	text := fmt.Sprintf("line %d", result.Line)
	if result.Key != nil {
		text += fmt.Sprintf(" (%s)", *result.Key)
	}
	if result.Error == nil {
		return text + ": " + result.Result
	}
	var at []string
	if result.Error.Errors != nil {
		for _, field := range *result.Error.Errors {
			at = append(at, " at "+field.Pointer)
		}
	}
	return fmt.Sprintf("%s: %s%s: %s", text, result.Error.Code, strings.Join(at, ","), result.Error.Detail)
}

func (f *fileImport) conclude() error {
	if f.asJSON {
		return json.NewEncoder(f.out).Encode(f.sum)
	}
	_, err := fmt.Fprintf(f.out, "%d created, %d there already, %d failed.\n", f.sum.Created, f.sum.Exists, f.sum.Failed)
	return err
}
