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
	return sp.verifyLines(ctx, lines)
}

// verifyWithout takes the evidence out, which must show.
func (sp *spill) verifyWithout(ctx context.Context) error {
	lines, err := sp.download(ctx)
	if err != nil {
		return err
	}
	all := bytes.SplitAfter(lines, []byte("\n"))
	i := int(sp.evidence.Position) - 1
	err = sp.verifyLines(ctx, bytes.Join(append(all[:i:i], all[i+1:]...), nil))
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

func (sp *spill) verifyLines(ctx context.Context, lines []byte) error {
	file, err := os.CreateTemp("", "holdfast-demo-*.ndjson")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(lines)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = operate(ctx, "journal", "verify", file.Name(), "--tenant", sp.acme.id, "--world", spilledWorld)
	return err
}
