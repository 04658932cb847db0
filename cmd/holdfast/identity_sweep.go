package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var sweepView = view[holdfast.Sweep]{
	{"DATABASE", func(s holdfast.Sweep) string { return s.Database }},
	{"KIND", func(s holdfast.Sweep) string { return s.Kind }},
	{"FAMILY", func(s holdfast.Sweep) string { return s.Family }},
	{"NUMBERS", func(s holdfast.Sweep) string { return strconv.Itoa(s.Numbers) }},
	{"PASSES", func(s holdfast.Sweep) string { return strconv.FormatInt(s.Passes, 10) }},
	{"OLDEST PASS", func(s holdfast.Sweep) string { return whenever(s.OldestPass) }},
	{"VISITED", func(s holdfast.Sweep) string { return strconv.FormatInt(s.Visited, 10) }},
	{"RECOVERED", func(s holdfast.Sweep) string { return strconv.FormatInt(s.Recovered, 10) }},
}

var askedSweepView = view[holdfast.AskedSweep]{
	{"DATABASE", func(s holdfast.AskedSweep) string { return s.Database }},
	{"SWEEP", func(s holdfast.AskedSweep) string {
		if s.AlreadyAsked {
			return "waiting or under way already"
		}
		return "asked for"
	}},
}

func newIdentitySweep(r *remote) *cobra.Command {
	command := r.noun("sweep", "Show how far the sweeps are, which finish what requests left", newIdentitySweepRun(r))
	command.RunE = r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
		sweeps, err := api.ListSweepsWithResponse(ctx)
		if err != nil {
			return answer{}, err
		}
		return sweepView.table(sweeps.JSON200.Sweeps), nil
	})
	return command
}

func newIdentitySweepRun(r *remote) *cobra.Command {
	var cleanup bool
	command := &cobra.Command{
		Use:   "run",
		Short: "Ask for a sweep of every data database, now, or for a cleanup",
		Args:  arguments(),
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			kind := holdfast.SweepKindIdentity
			if cleanup {
				kind = holdfast.SweepKindCleanup
			}
			run, err := api.RunSweepWithResponse(ctx, kind)
			if err != nil {
				return answer{}, err
			}
			return askedSweepView.table(run.JSON202.Databases), nil
		}),
	}
	command.Flags().BoolVar(&cleanup, "cleanup", false, "ask for what removes expired codes, ended quarantines and old events instead")
	return command
}
