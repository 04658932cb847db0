package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationPlan(r *remote) *cobra.Command {
	var plan string
	var packet bool
	command := &cobra.Command{
		Use:   "plan TENANT MIGRATION",
		Short: "Show a migration's plan, with what was counted for it",
		Long: "Show a migration's plan, with what was counted for it.\n\n" +
			"With --packet it prints what is approved and nothing else, as canonical JSON (RFC 8785) without a\n" +
			"newline behind it, so that sha256sum gives the plan's hash.",
		Args: arguments("TENANT", "MIGRATION"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			if packet && r.asJSON {
				return answer{}, exitError{exitUsage, errors.New("--packet is JSON already, letter for letter: leave --json out")}
			}
			if plan == "" {
				t, err := lookAt(ctx, api, args[0], args[1])
				if err != nil {
					return answer{}, err
				}
				plan = t.hash
			}
			got, err := planOf(ctx, api, args[0], args[1], plan)
			if err != nil {
				return answer{}, err
			}
			if packet {
				return packetOf(got), nil
			}
			return showPlan(got), nil
		}),
	}
	command.Flags().Var(hashFlag{&plan}, "plan", "the plan's `hash`; that of the plan that stands without it")
	command.Flags().BoolVar(&packet, "packet", false, "print the canonical packet")
	return command
}

func planOf(ctx context.Context, api caller, tenant, id, hash string) (holdfast.MigrationPlan, error) {
	if hash == "" {
		return holdfast.MigrationPlan{}, errors.New(standingPlan.missing)
	}
	got, err := api.GetMigrationPlanWithResponse(ctx, tenant, id, hash)
	if err != nil {
		return holdfast.MigrationPlan{}, err
	}
	return *got.JSON200, nil
}

// packetOf prints the text whose hash is approved, letter for letter.
func packetOf(p holdfast.MigrationPlan) answer {
	return answer{write: func(out io.Writer) error {
		_, err := io.WriteString(out, p.Text)
		return err
	}}
}
