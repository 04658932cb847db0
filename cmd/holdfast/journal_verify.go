package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func newJournalVerify(r *remote) *cobra.Command {
	var v journalVerify
	var tenant, keys string
	var checkpoints []string
	command := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a world's journal in a file, or - for the standard input",
		Long: "Verify a world's journal in a file, or - for the standard input, with nothing but what is in files.\n\n" +
			"FILE has all entries from the first one on, a line each, as GET /v1/worlds/{world_id}/journal gives\n" +
			"them with Accept: application/x-ndjson. They must be those of this tenant and world, without a gap,\n" +
			"each chained to the one in front, and each written by who had the lease there.\n\n" +
			"That the last entries are not missing, and that nobody wrote and chained them anew, is shown by\n" +
			"checkpoints only: what GET /v1/worlds/{world_id}/journal/checkpoint gave, kept elsewhere since. The\n" +
			"keys that sign them are at /.well-known/holdfast-checkpoint-keys.json.\n\n" +
			"That no entry id is used twice is not verified. No configuration is needed, and no network.",
		Args: arguments("FILE"),
		RunE: func(command *cobra.Command, args []string) error {
			if err := v.prepare(tenant, keys, checkpoints); err != nil {
				return err
			}
			in, err := openInput(args[0], command.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			progress := newProgress(command.ErrOrStderr())
			defer progress.clear()
			verdict, err := v.run(&metered{in: &interruptible{ctx: command.Context(), in: in}, size: in.size(), progress: progress})
			if errors.Is(err, context.Canceled) {
				return errors.New("interrupted")
			}
			if err != nil {
				return err
			}
			progress.clear()
			if err := (answer{value: verdict, write: verdict.write}).print(command.OutOrStdout(), r.asJSON); err != nil {
				return err
			}
			if verdict.Fault != nil {
				return exitError{code: exitDiffers}
			}
			return nil
		},
	}
	command.Flags().StringVar(&tenant, "tenant", "", "the tenant's `id`")
	command.Flags().StringVar(&v.world, "world", "", "the world's `id`")
	command.Flags().StringArrayVar(&checkpoints, "checkpoint", nil, "a `file` with a checkpoint of the world; may be repeated")
	command.Flags().StringVar(&keys, "keys", "", "a `file` with the keys that sign checkpoints")
	for _, required := range []string{"tenant", "world"} {
		if err := command.MarkFlagRequired(required); err != nil {
			panic(err) // there is no such flag
		}
	}
	command.MarkFlagsRequiredTogether("checkpoint", "keys")
	return command
}

// journalVerify is one run of the command.
type journalVerify struct {
	tenant      domain.TenantID
	world       string
	checkpoints []journal.Checkpoint
	keys        journal.Keys
}

// prepare reads all but the journal.
func (v *journalVerify) prepare(tenant, keys string, checkpoints []string) (err error) {
	if v.tenant, err = domain.ParseID[domain.TenantKind](tenant); err != nil {
		return exitError{exitUsage, fmt.Errorf("--tenant %q is not an id", tenant)}
	}
	if keys == "" {
		return nil
	}
	if v.keys, err = parseFile(keys, journal.ParseKeys); err != nil {
		return err
	}
	for _, name := range checkpoints {
		checkpoint, err := parseFile(name, journal.ParseCheckpoint)
		if err != nil {
			return err
		}
		v.checkpoints = append(v.checkpoints, checkpoint)
	}
	return nil
}

func parseFile[T any](name string, parse func([]byte) (T, error)) (parsed T, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return parsed, err
	}
	if parsed, err = parse(text); err != nil {
		return parsed, fmt.Errorf("%s: %w", name, err)
	}
	return parsed, nil
}

func (v *journalVerify) run(in io.Reader) (journalVerdict, error) {
	state, err := journal.Verify(in, v.tenant, v.world, v.checkpoints, v.keys)
	verdict := journalVerdict{
		Tenant: v.tenant, World: v.world, Position: state.Position, Epoch: state.Epoch, Holder: state.Holder,
		Hash: state.Hash, LastAt: state.LastAt, Retired: state.Retired, Checkpoints: len(v.checkpoints),
	}
	if errors.As(err, &verdict.Fault) {
		return verdict, nil
	}
	return verdict, err
}

// journalVerdict says how far a journal holds, and who may write there.
type journalVerdict struct {
	Tenant      domain.TenantID `json:"tenant_id"`
	World       string          `json:"world_id"`
	Position    int64           `json:"position"` // of the last entry that holds; 0 for none
	Epoch       int64           `json:"epoch"`
	Holder      journal.Actor   `json:"holder,omitzero"` // nobody between a revocation and its grant
	Hash        journal.Hash    `json:"hash,omitzero"`
	LastAt      time.Time       `json:"last_at,omitzero"`
	Retired     bool            `json:"retired"`
	Checkpoints int             `json:"checkpoints"`     // that it was held to
	Fault       *journal.Fault  `json:"fault,omitempty"` // what is wrong; none if nothing is
}

func (v journalVerdict) write(out io.Writer) error {
	if v.Fault != nil {
		_, err := fmt.Fprintf(out, "The journal fails: %v.\n", v.Fault)
		return err
	}
	with := "with no checkpoint to hold it to"
	switch {
	case v.Checkpoints == 1:
		with = "and agrees with the checkpoint"
	case v.Checkpoints > 1:
		with = fmt.Sprintf("and agrees with all %d checkpoints", v.Checkpoints)
	}
	_, err := fmt.Fprintf(out, "The journal is sound, %s: positions 1 to %d, epoch %d, holder %s, hash %s.\n",
		with, v.Position, v.Epoch, v.Holder, v.Hash)
	return err
}

// metered shows how much of a file has been read.
type metered struct {
	in       io.Reader
	read     int64 // bytes
	size     int64 // 0 if nobody knows
	progress *progress
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	m.read += int64(n)
	m.progress.show("%s%d MiB verified", bar(m.read, m.size), m.read>>20)
	return n, err
}
