// Command hold takes a world over, as a tenant's own process does that runs the
// world's turns: it rebuilds the world's state from the journal (here a sum), plays
// turns under the lease, and gives the world back. The world must be there, and the
// key's principal needs the scopes lease:hold, lease:append and lease:read.
//
//	HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_API_KEY=hf_… WORLD=north-7 go run ./clients/go/example/hold
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("HOLDFAST_URL"), os.Getenv("HOLDFAST_API_KEY"), os.Getenv("WORLD")); err != nil {
		fmt.Fprintln(os.Stderr, "hold:", err)
		os.Exit(1)
	}
}

// turns is how many are played.
const turns = 3

func run(ctx context.Context, url, key, world string) error {
	client, err := holdfast.Connect(url, key)
	if err != nil {
		return err
	}
	var game game
	options := holdfast.HoldOptions{
		Wait: time.Minute, // in line, if another node has the world
		Replay: func(_ context.Context, entries []holdfast.JournalEntry) error {
			for _, entry := range entries {
				game.apply(entry.JSON)
			}
			return nil
		},
	}
	err = holdfast.Hold(ctx, client, world, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
		fmt.Printf("Took %s over at epoch %d. The sum is %d.\n", lease.World(), lease.Epoch(), game.Sum)
		for range turns {
			turn := json.RawMessage(`{"add":1}`)
			receipt, err := lease.Append(ctx, holdfast.NewEntry{JSON: turn})
			if err != nil {
				return err // the turn is not in the journal, so it never was
			}
			game.apply(turn)
			fmt.Printf("A turn is at position %d. The sum is %d.\n", receipt.Positions[0], game.Sum)
		}
		return nil
	})
	var lost *holdfast.LeaseLostError
	if errors.As(err, &lost) {
		return fmt.Errorf("what isn't in the journal is gone; start again: %w", lost)
	}
	if err != nil {
		return err
	}
	fmt.Println("Gave it back.")
	return nil
}

// game is what a world comes to.
type game struct{ Sum int64 }

// apply plays a turn that is in the journal. Other entries, Holdfast's own among
// them, are none.
func (g *game) apply(payload json.RawMessage) {
	var turn struct {
		Add int64 `json:"add"`
	}
	if json.Unmarshal(payload, &turn) == nil {
		g.Sum += turn.Add
	}
}
