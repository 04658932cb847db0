package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newAuditExport(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE",
		Short: "Write all of the log into a new file, or - for the standard output",
		Long: "Write all of the log into a new file, or - for the standard output: an entry a line (NDJSON), as\n" +
			"holdfast audit verify takes them.",
		Args: arguments("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			if args[0] == "-" {
				return r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
					_, err := exportAudit(ctx, api, command.OutOrStdout())
					return answer{write: func(io.Writer) error { return nil }}, err
				})(command, args)
			}
			return r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
				return exportAuditFile(ctx, api, args[0])
			})(command, args)
		},
	}
}

// exportAuditFile leaves no file that could be taken for the whole after an error.
func exportAuditFile(ctx context.Context, api caller, name string) (answer, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return answer{}, fmt.Errorf("the file %s is there already, and is left as it is; choose another name", name)
	}
	if err != nil {
		return answer{}, err
	}
	n, err := exportAudit(ctx, api, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return answer{}, errors.Join(err, os.Remove(name))
	}
	return said(fmt.Sprintf("%d entries are in %s.", n, name)), nil
}

// linesAtOnce is the most that the API gives in one answer.
const linesAtOnce int64 = 100_000

// exportAudit writes every line as it comes, and gives how many there were.
func exportAudit(ctx context.Context, api caller, to io.Writer) (entries int64, err error) {
	out := bufio.NewWriter(to)
	for after := int64(0); ; {
		last, n, err := exportSome(ctx, api, out, after)
		entries += n
		if err != nil {
			return entries, err
		}
		if n < linesAtOnce {
			return entries, out.Flush()
		}
		after = last
	}
}

func exportSome(ctx context.Context, api caller, out io.Writer, after int64) (last, n int64, err error) {
	response, err := api.ListAudit(ctx, &holdfast.ListAuditParams{After: &after, Limit: new(linesAtOnce)}, func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "application/x-ndjson")
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return last, n, nil
		}
		if err != nil { // a line without its end, too: the answer was cut off
			return last, n, err
		}
		var entry struct{ Sequence int64 }
		if err := json.Unmarshal(line, &entry); err != nil {
			return last, n, err
		}
		if _, err := out.Write(line); err != nil {
			return last, n, err
		}
		last, n = entry.Sequence, n+1
	}
}
