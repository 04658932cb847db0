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
			"/.well-known/holdfast-checkpoint-keys.json, also the heads' signatures are verified. Without them the\n" +
			"verdict says so: anybody can write a head that agrees with a log.\n\n" +
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
			told := auditVerdict{Verdict: verdict, Given: len(known), SignaturesVerified: keys != "" && len(known) > 0}
			if err := (answer{value: told, write: told.write}).print(command.OutOrStdout(), r.asJSON); err != nil {
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
		if known, err = parseFile(keys, parseHeadKeys); err != nil {
			return nil, exitError{exitUsage, err}
		}
	}
	for _, name := range names {
		head, err := parseFile(name, parseHead)
		if err != nil {
			return nil, exitError{exitUsage, err}
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

var errNoHeadKeys = errors.New("it has no key that signs heads; holdfast audit verify takes what /.well-known/holdfast-checkpoint-keys.json gave")

// parseHeadKeys refuses a set without a key, which no head would be signed by: it is
// the wrong file, and says nothing about a head.
func parseHeadKeys(text []byte) (journal.Keys, error) {
	keys, err := journal.ParseKeys(text)
	if err == nil && len(keys) == 0 {
		err = errNoHeadKeys
	}
	return keys, err
}

var errNoHead = errors.New("it is not a head of an audit log, as holdfast audit head --json gives it")

// parseHead doesn't tell what the decoder makes of a file that is none.
func parseHead(text []byte) (audit.Head, error) {
	head, err := audit.ParseHead(text)
	if err != nil {
		return audit.Head{}, errNoHead
	}
	return head, nil
}

// auditVerdict is a verdict with what the heads are worth to which the log was held.
type auditVerdict struct {
	audit.Verdict
	Given              int  `json:"-"`                   // heads
	SignaturesVerified bool `json:"signatures_verified"` // of all heads; false without one
}

// write tells it to people.
func (v auditVerdict) write(out io.Writer) error {
	if v.Fault != nil {
		_, err := fmt.Fprintf(out, "The log fails at entry %d: %s%s.\n", v.Fault.Sequence, v.Fault.Detail, v.unverified())
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
	return text + v.unverified()
}

// unverified warns of heads that anybody may have written.
func (v auditVerdict) unverified() string {
	if v.Given == 0 || v.SignaturesVerified {
		return ""
	}
	return " (no head's signature was verified, which takes --keys)"
}
