package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// held is an API with a world, and two principals who may take it over.
type held struct {
	*stack
	api    *running
	tenant customer
	hosted *holdfast.ClientWithResponses // may write while the coordinator holds
	nodes  [2]*holdfast.ClientWithResponses
}

const heldWorld = "north-7"

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{stack: newStack(t, 2)}
	h.api = h.serve(t)
	h.tenant = h.stack.tenant(t, h.api, "acme", "lease:admin", "lease:append", "lease:read")
	h.hosted = connect(t, h.api, h.tenant.key)
	for i := range h.nodes {
		h.nodes[i] = connect(t, h.api, h.node(t, fmt.Sprint("node-", i)))
	}
	if _, err := h.hosted.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: heldWorld}); err != nil {
		t.Fatal(err)
	}
	return h
}

// node makes a principal who may take worlds over, and gives its key.
func (h *held) node(t *testing.T, name string) string {
	t.Helper()
	operator := h.operator(t, h.api)
	principal, err := operator.CreatePrincipalWithResponse(t.Context(), h.tenant.id, nil,
		holdfast.NewPrincipal{Name: name, Scopes: []string{"lease:hold", "lease:append", "lease:read"}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := operator.CreateAPIKeyWithResponse(t.Context(), h.tenant.id, principal.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	return key.JSON201.APIKey
}

func (h *held) write(t *testing.T, entry string) {
	t.Helper()
	_, err := h.hosted.AppendEntriesWithResponse(t.Context(), heldWorld, nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{{JSON: json.RawMessage(entry)}}})
	if err != nil {
		t.Fatal(err)
	}
}

func (h *held) journal(t *testing.T) (entries []holdfast.JournalEntry) {
	t.Helper()
	chain := holdfast.NewJournalChain(h.tenant.id, heldWorld)
	page, err := h.hosted.ReadJournalWithResponse(t.Context(), heldWorld, &holdfast.ReadJournalParams{Limit: ptr[int64](1000)})
	if err != nil {
		t.Fatal(err)
	}
	var raw struct{ Entries []json.RawMessage }
	if err := json.Unmarshal(page.Body, &raw); err != nil || page.JSON200.More {
		t.Fatalf("%v; there is more: %v", err, page.JSON200.More)
	}
	for _, entry := range raw.Entries {
		if err := chain.Follow(entry); err != nil {
			t.Fatal(err)
		}
	}
	return page.JSON200.Entries
}

func (h *held) kinds(t *testing.T) string {
	t.Helper()
	var kinds []string
	for _, e := range h.journal(t) {
		if e.Kind != "lease_renewed" {
			kinds = append(kinds, e.Kind)
		}
	}
	return strings.Join(kinds, " ")
}

func TestHoldExample_PlaysTurnsAgainstTheAPI(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	h.write(t, `{"add":40}`)
	cmd := exec.Command("go", "run", "../../clients/go/example/hold")
	cmd.Env = append(os.Environ(), "HOLDFAST_URL="+h.api.url, "HOLDFAST_API_KEY="+h.node(t, "example"), "WORLD="+heldWorld)
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "The sum is 43.\nGave it back.") {
		t.Errorf("%v\n%s", err, output)
	}
	want := "world_created entry lease_handed_off lease_activated entry entry entry lease_handed_off"
	if kinds := h.kinds(t); kinds != want {
		t.Errorf("the journal has %s", kinds)
	}
}

// Two nodes that want a world all the time write every number once and in order:
// each goes on from what the other has left in the journal.
func TestHold_NodesThatTakeTurnsCountWithoutAGap(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	const rounds = 8
	var nodes sync.WaitGroup
	for i, client := range h.nodes {
		nodes.Go(func() {
			for range rounds {
				if err := countOn(t.Context(), client); err != nil {
					t.Errorf("node %d: %v", i, err)
				}
			}
		})
	}
	nodes.Wait()
	n := 0
	for _, e := range h.journal(t) {
		if e.Kind != "entry" {
			continue
		}
		if n++; string(e.JSON) != fmt.Sprint(n) {
			t.Errorf("position %d has %s, not %d", e.Position, e.JSON, n)
		}
	}
	if n != 2*rounds*3 {
		t.Errorf("%d numbers were written", n)
	}
}

// countOn holds the world for three numbers.
func countOn(ctx context.Context, client *holdfast.ClientWithResponses) error {
	n := 0
	options := holdfast.HoldOptions{Wait: time.Minute, HandTo: holdfast.HandOffToNext, Replay: func(_ context.Context, entries []holdfast.JournalEntry) error {
		for _, e := range entries {
			if e.Kind == "entry" {
				n++
			}
		}
		return nil
	}}
	return holdfast.Hold(ctx, client, heldWorld, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
		for range 3 {
			n++
			if _, err := lease.Append(ctx, holdfast.NewEntry{JSON: json.RawMessage(fmt.Sprint(n))}); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestHold_IsLostToAnOperatorAndToATakeover(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	for name, take := range map[string]func(lease *holdfast.HeldLease) error{
		"a revocation": func(*holdfast.HeldLease) error {
			now, err := h.hosted.GetLeaseWithResponse(t.Context(), heldWorld, nil)
			if err != nil {
				return err
			}
			_, err = h.hosted.RevokeLeaseWithResponse(t.Context(), heldWorld, holdfast.LeaseRevocation{
				Epoch: now.JSON200.Epoch, RenewedPosition: *now.JSON200.RenewedPosition, Reason: "a test",
			})
			return err
		},
		"a takeover": func(*holdfast.HeldLease) error {
			return holdfast.Hold(t.Context(), h.nodes[0], heldWorld, holdfast.HoldOptions{Takeover: true}, func(context.Context, *holdfast.HeldLease) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := holdfast.Hold(t.Context(), h.nodes[0], heldWorld, holdfast.HoldOptions{Term: 5 * time.Second}, func(ctx context.Context, lease *holdfast.HeldLease) error {
				if err := take(lease); err != nil {
					t.Error(err)
				}
				<-ctx.Done() // by the next renewal
				return ctx.Err()
			})
			var lost *holdfast.LeaseLostError
			if !errors.As(err, &lost) || lost.Reason != holdfast.ErrFenced || lost.HolderEpoch <= lost.Epoch || lost.Holder == nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// Its own deadline is always before the expiry that the service has journaled.
func TestHold_TheServiceKeepsALeaseForLongerThanItsHolderDoes(t *testing.T) {
	t.Parallel()
	h := newHeld(t)
	err := holdfast.Hold(t.Context(), h.nodes[0], heldWorld, holdfast.HoldOptions{Term: 5 * time.Second}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		for entries := 0; entries < 3; { // the activation and two renewals
			mine := lease.Deadline()
			now, err := h.hosted.GetLeaseWithResponse(ctx, heldWorld, nil)
			if err != nil {
				return err
			}
			theirs := time.Now().Add(time.Duration(*now.JSON200.RemainingMs+1) * time.Millisecond) // at the latest: it is whole milliseconds
			if early := theirs.Sub(mine); early < 500*time.Millisecond {
				t.Errorf("its deadline is %v before the expiry", early)
			}
			entries = int(now.JSON200.Position - *now.JSON200.GrantedPosition)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestHold_OutlivesAnAPIThatIsRestarted(t *testing.T) {
	t.Parallel()
	h := &held{stack: newStack(t, 1)}
	h.api = h.spawn(t)
	h.tenant = h.stack.tenant(t, h.api, "acme", "lease:admin", "lease:append", "lease:read", "lease:hold")
	h.hosted = connect(t, h.api, h.tenant.key)
	if _, err := h.hosted.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: heldWorld}); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(h.api.url, "http://")
	err := holdfast.Hold(t.Context(), h.hosted, heldWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		for i := range 3 {
			h.api.kill()
			written := make(chan error, 1)
			go func() {
				_, err := lease.Append(ctx, holdfast.NewEntry{JSON: json.RawMessage(fmt.Sprint(i))})
				written <- err
			}()
			h.api = h.spawn(t, "HOLDFAST_API_ADDRESS="+address)
			if err := <-written; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kinds := h.kinds(t); strings.Count(kinds, " entry") != 3 {
		t.Errorf("the journal has %s", kinds)
	}
}
