package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func newAuditVerify(r *remote) *cobra.Command {
	var heads []string
	var keys string
	command := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a log in a file, or - for the standard input",
		Long: "Verify a log in a file, or - for the standard input, with nothing but what is in files.\n\n" +
			"FILE has all entries, a line each, as holdfast audit export writes them. They must be without a gap,\n" +
			"each chained to the one in front, from the first one on, or behind those that were cut off after 400\n" +
			"days.\n\n" +
			"That the last entries are not missing, and that nobody wrote and chained them anew, is shown by heads\n" +
			"only: what holdfast audit head --json gave, kept elsewhere since. With the keys, from\n" +
			"/.well-known/holdfast-checkpoint-keys.json, also the heads' signatures are verified.\n\n" +
			"No configuration is needed, and no network.",
		Args: arguments("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			known, err := knownHeads(heads, keys)
			if err != nil {
				return err
			}
			in, err := openInput(args[0], command.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			progress := newProgress(command.ErrOrStderr())
			defer progress.clear()
			verdict, err := audit.Verify(&metered{in: &interruptible{ctx: command.Context(), in: in}, size: in.size(), progress: progress}, known)
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted")
			}
			if err != nil {
				return err
			}
			progress.clear()
			if err := (answer{value: verdict, write: auditVerdict(verdict).write}).print(command.OutOrStdout(), r.asJSON); err != nil {
				return err
			}
			if verdict.Fault != nil {
				return exitError{code: exitDiffers}
			}
			return nil
		},
	}
	command.Flags().StringArrayVar(&heads, "head", nil, "a `file` with a head of the log; may be repeated")
	command.Flags().StringVar(&keys, "keys", "", "a `file` with the keys that sign heads")
	return command
}

// knownHeads reads the heads, each signed by one of the keys where there are some.
func knownHeads(names []string, keys string) (heads []audit.Head, err error) {
	var known journal.Keys
	if keys != "" {
		if known, err = parseFile(keys, journal.ParseKeys); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		head, err := parseFile(name, audit.ParseHead)
		if err != nil {
			return nil, err
		}
		if keys != "" {
			if err := head.VerifySignature(known); err != nil {
				return nil, exitError{exitDiffers, fmt.Errorf("%s: %w", name, err)}
			}
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// auditVerdict is a verdict for people.
type auditVerdict audit.Verdict

func (v auditVerdict) write(out io.Writer) error {
	if v.Fault != nil {
		_, err := fmt.Fprintf(out, "The log fails at entry %d: %s.\n", v.Fault.Sequence, v.Fault.Detail)
		return err
	}
	_, err := fmt.Fprintf(out, "The log is sound, %s: entries %d to %d, hash %s.\n", v.heldTo(), v.First, v.Last, v.Hash)
	if err != nil || len(v.Unknown) == 0 {
		return err
	}
	_, err = fmt.Fprintf(out, "Acts without an outcome, which may or may not have been done: %s.\n", strings.Trim(fmt.Sprint(v.Unknown), "[]"))
	return err
}

func (v auditVerdict) heldTo() string {
	var text string
	switch v.Heads {
	case 0:
		text = "with no head to hold it to"
	case 1:
		text = "and agrees with the head"
	default:
		text = fmt.Sprintf("and agrees with all %d heads", v.Heads)
	}
	if v.Older > 0 {
		text += fmt.Sprintf(" (%d are of entries that were cut off)", v.Older)
	}
	return text
}
