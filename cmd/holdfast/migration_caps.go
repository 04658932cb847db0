package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// capsFlags are the caps of a pass, of which some are given.
type capsFlags struct {
	given holdfast.MigrationCaps
	flags *pflag.FlagSet
}

func (c *capsFlags) add(flags *pflag.FlagSet) {
	c.flags = flags
	most := largestCaps
	flags.Var(wholeIn(&c.given.InspectedRows, 1, most.InspectedRows), "rows", "rows that a pass inspects, 1 to 64")
	flags.Var(wholeIn(&c.given.Records, 1, most.Records), "records", "records that it moves, 1 to 4; one always goes, however large")
	flags.Var(wholeIn(&c.given.Bytes, leastCapBytes, most.Bytes), "bytes", "bytes of bodies that it moves, 65536 to 8388608")
	flags.Var(wholeIn(&c.given.BodiesInFlight, 1, most.BodiesInFlight), "in-flight", "bodies that are on their way at once, 1 to 4")
}

// leastCapBytes is the API's bound of the bytes that a pass moves.
const leastCapBytes = 64 << 10

// any tells whether one was given.
func (c *capsFlags) any() bool {
	for _, name := range []string{"rows", "records", "bytes", "in-flight"} {
		if c.flags.Changed(name) {
			return true
		}
	}
	return false
}

// over are caps with those that were given in their place.
func (c *capsFlags) over(caps holdfast.MigrationCaps) holdfast.MigrationCaps {
	if c.flags.Changed("rows") {
		caps.InspectedRows = c.given.InspectedRows
	}
	if c.flags.Changed("records") {
		caps.Records = c.given.Records
	}
	if c.flags.Changed("bytes") {
		caps.Bytes = c.given.Bytes
	}
	if c.flags.Changed("in-flight") {
		caps.BodiesInFlight = c.given.BodiesInFlight
	}
	return caps
}

func capsOf(caps *holdfast.MigrationCaps) string {
	if caps == nil {
		return "-"
	}
	return fmt.Sprintf("a pass inspects %s, moves %s of %s, %s at once",
		counted(caps.InspectedRows, "row"), counted(caps.Records, "record"), sized(caps.Bytes), counted(caps.BodiesInFlight, "body"))
}

var errNoCaps = exitError{exitUsage, errors.New("name a cap to lower: --rows, --records, --bytes or --in-flight")}

func newMigrationCaps(r *remote) *cobra.Command {
	var caps capsFlags
	command := act{
		use:    "caps",
		short:  "Lower what bounds a pass, while the migration goes on",
		states: []string{"active", "paused", "stopped"},
		long: "A run has them within about a second. They are recorded beside the plan, with who did it. Caps that\n" +
			"aren't given stay. Raising one takes a new plan.\n\n",
		would: func(_ context.Context, _ caller, t target) (string, error) {
			switch {
			case !caps.any():
				return "", errNoCaps
			case t.Migration.Caps == nil:
				return "It has no caps yet: there is no plan.", nil
			}
			next := caps.over(*t.Migration.Caps)
			return fmt.Sprintf("Now %s.\nThen %s.", capsOf(t.Migration.Caps), capsOf(&next)), nil
		},
		do: func(ctx context.Context, api caller, t target) (answer, error) {
			switch {
			case !caps.any():
				return answer{}, errNoCaps
			case t.Migration.Caps == nil:
				return answer{}, errors.New("the migration has no caps to lower: there is no plan")
			}
			lowered, err := api.LowerMigrationCapsWithResponse(ctx, t.tenant, t.id,
				holdfast.LowerMigrationCaps{PlanHash: t.hash, Caps: caps.over(*t.Migration.Caps)})
			if err != nil {
				return answer{}, err
			}
			return migrationView.one(*lowered.JSON200), nil
		},
	}.command(r)
	caps.add(command.Flags())
	return command
}
