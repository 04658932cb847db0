package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// findEvidence looks for the first node's attempt.
func (sp *spill) findEvidence(ctx context.Context) error {
	page, err := sp.hosted.ReadJournalWithResponse(ctx, spilledWorld, nil)
	if err != nil {
		return err
	}
	for _, entry := range page.JSON200.Entries {
		switch {
		case entry.EntryID == "too-late" || entry.EntryID == "intruder":
			return fmt.Errorf("%s was written, at position %d", entry.EntryID, entry.Position)
		case entry.Kind == "append_rejected" && entry.Actor.Subject == sp.first.id:
			sp.evidence = entry
		}
	}
	var details struct {
		Presented int64 `json:"presented_epoch"`
		Current   int64 `json:"current_epoch"`
		Count     int64 `json:"count"`
	}
	if sp.evidence.Position == 0 {
		return errors.New("there is none")
	}
	if err := json.Unmarshal(sp.evidence.Details, &details); err != nil {
		return err
	}
	return expect(details.Presented == 2 && details.Current == 4 && details.Count == 1, "it is %s", sp.evidence.Details)
}

// prove asks who wrote the first node's turn.
func (sp *spill) prove(ctx context.Context) error {
	const turn = 7 // behind the world's creation, three turns, the handoff and the activation
	position := int64(turn)
	then, err := sp.hosted.GetLeaseWithResponse(ctx, spilledWorld, &holdfast.GetLeaseParams{Position: &position})
	if err != nil {
		return err
	}
	lease := then.JSON200
	right := lease.Holder.Subject == sp.first.id && lease.Proof != nil && lease.Proof.Kind == "lease_handed_off" && lease.Proof.Position < turn
	return expect(right, "the answer is %s", then.Body)
}

// verify holds the journal, as anybody may download it, to its rules.
func (sp *spill) verify(ctx context.Context) error {
	lines, err := sp.download(ctx)
	if err != nil {
		return err
	}
	return sp.verifyLines(ctx, lines, nil)
}

// verifyWithCheckpoint has the journal's end signed, and holds the journal to that.
func (sp *spill) verifyWithCheckpoint(ctx context.Context) error {
	signed, err := sp.hosted.GetCheckpointWithResponse(ctx, spilledWorld)
	if err != nil {
		return err
	}
	keys, err := sp.hosted.GetCheckpointKeysWithResponse(ctx)
	if err != nil {
		return err
	}
	sp.checkpoint, sp.keys = signed.Body, keys.Body
	lines, err := sp.download(ctx)
	if err != nil {
		return err
	}
	return sp.verifyLines(ctx, lines, sp.checkpoint)
}

// verifyCut takes the last line away. What is left is a sound journal, but not the
// whole of this one.
func (sp *spill) verifyCut(ctx context.Context) error {
	lines, err := sp.download(ctx)
	if err != nil {
		return err
	}
	last := int64(bytes.Count(lines, []byte("\n")))
	cut := lines[:bytes.LastIndexByte(lines[:len(lines)-1], '\n')+1]
	if err := sp.verifyLines(ctx, cut, nil); err != nil {
		return err
	}
	return sp.verifyWithout(ctx, last, sp.checkpoint)
}

// verifyWithout takes the line of a position away, which must show.
func (sp *spill) verifyWithout(ctx context.Context, position int64, checkpoint []byte) error {
	lines, err := sp.download(ctx)
	if err != nil {
		return err
	}
	all := bytes.SplitAfter(lines, []byte("\n"))
	err = sp.verifyLines(ctx, bytes.Join(slices.Delete(all, int(position)-1, int(position)), nil), checkpoint)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == foundFaulty {
		return nil
	}
	return fmt.Errorf("nobody finds out: %v", err)
}

// foundFaulty is the command line's exit code for a check that found something.
const foundFaulty = 3

// download reads the journal as lines.
func (sp *spill) download(ctx context.Context) ([]byte, error) {
	response, err := sp.hosted.ReadJournal(ctx, spilledWorld, nil, func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "application/x-ndjson")
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// verifyLines runs the command on files, with a checkpoint if there is one.
func (sp *spill) verifyLines(ctx context.Context, lines, checkpoint []byte) error {
	folder, err := os.MkdirTemp("", "holdfast-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := func(name string, text []byte) string {
		name = filepath.Join(folder, name)
		err = errors.Join(err, os.WriteFile(name, text, 0o600))
		return name
	}
	arguments := []string{"journal", "verify", file("journal.ndjson", lines), "--tenant", sp.acme.id, "--world", spilledWorld}
	if checkpoint != nil {
		arguments = append(arguments, "--checkpoint", file("checkpoint.json", checkpoint), "--keys", file("keys.json", sp.keys))
	}
	if err != nil {
		return err
	}
	_, err = operate(ctx, arguments...)
	return err
}
