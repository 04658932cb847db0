package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// nodeTerm is short, so that the demo needn't wait for long.
const nodeTerm = 5 * time.Second

// node is the argument that makes this program a tenant's process that takes a
// world over. What it takes comes in these variables.
const (
	node      = "node"
	nodeURL   = "HOLDFAST_URL"
	nodeKey   = "HOLDFAST_API_KEY"
	nodeWorld = "DEMO_WORLD"
)

// newNode makes a principal of acme's that may take worlds over, with a key.
func (s *stack) newNode(ctx context.Context, name string, more ...string) (worldNode, error) {
	principal, err := s.operator.CreatePrincipalWithResponse(ctx, s.acme.id, nil,
		holdfast.NewPrincipal{Name: name, Scopes: append(holdfast.Scopes{"lease:read", "lease:append", "lease:hold"}, more...)})
	if err != nil {
		return worldNode{}, err
	}
	key, err := s.operator.CreateAPIKeyWithResponse(ctx, s.acme.id, principal.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		return worldNode{}, err
	}
	return worldNode{name: name, id: principal.JSON201.ID, key: string(key.JSON201.APIKey)}, nil
}

// runNode takes the world over, plays a turn and says that it is ready. Then it is
// stopped in its tracks. When it is woken up behind its term, all must be as it
// checks here; otherwise it fails.
func runNode(ctx context.Context) error {
	client, err := holdfast.Connect(os.Getenv(nodeURL), os.Getenv(nodeKey))
	if err != nil {
		return err
	}
	world, found := os.Getenv(nodeWorld), &game{}
	options := holdfast.HoldOptions{Term: nodeTerm, Replay: found.replay}
	var woken error
	err = holdfast.Hold(ctx, client, world, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
		if _, err := lease.Append(ctx, found.turn()); err != nil {
			return err
		}
		fmt.Println("The node is ready.")
		<-ctx.Done()
		woken = writeTooLate(context.WithoutCancel(ctx), client, lease)
		return ctx.Err()
	})
	if !errors.Is(err, holdfast.ErrNotRenewed) {
		return fmt.Errorf("the lease is not over by its holder's own clock: %w", err)
	}
	return woken
}

// writeTooLate says that a lease that was slept through writes nothing: by the
// holder's loop nothing is even sent, and what is sent without it is fenced.
func writeTooLate(ctx context.Context, client *holdfast.ClientWithResponses, lease *holdfast.HeldLease) error {
	turn := holdfast.NewEntry{EntryID: "too-late", JSON: json.RawMessage(`{"add":1000}`)}
	if _, err := lease.Append(ctx, turn); !errors.Is(err, holdfast.ErrNotRenewed) {
		return fmt.Errorf("the loop sent it: %w", err)
	}
	authority := lease.Authority()
	_, err := client.AppendEntriesWithResponse(ctx, lease.World(), &holdfast.AppendEntriesParams{HoldfastLease: &authority},
		holdfast.NewEntries{Entries: []holdfast.NewEntry{turn}})
	return expectFenced(err, lease.Epoch()+2, "") // the coordinator had it, and now another node has
}

// game is what the world comes to: a sum, to which each turn adds one.
type game struct{ sum int }

func (g *game) replay(_ context.Context, entries []holdfast.JournalEntry) error {
	for _, entry := range entries {
		var turn struct{ Add int }
		if json.Unmarshal(entry.JSON, &turn) == nil {
			g.sum += turn.Add
		}
	}
	return nil
}

// turn is the next one.
func (g *game) turn() holdfast.NewEntry {
	g.sum++
	return holdfast.NewEntry{EntryID: fmt.Sprint("turn-", g.sum), JSON: json.RawMessage(`{"add":1}`)}
}
