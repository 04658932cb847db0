package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// previewing is what the command is told of a plan.
type previewing struct {
	qualification string
	caps          capsFlags
	prices        holdfast.StorePrices
	freeBytes     int64
	execute       bool
}

func newMigrationPreview(r *remote) *cobra.Command {
	p := &previewing{prices: listPrices}
	command := &cobra.Command{
		Use:   "preview TENANT MIGRATION",
		Short: "Count what there is to move, and make the plan that may be approved",
		Long: "Count what there is to move, look at the bucket's lifecycle rules, and make the plan that another\n" +
			"operator may approve. It writes the plan and nothing else, and may take two minutes.\n\n" +
			"It takes the place of a plan that was made before. For one that was approved it takes --execute,\n" +
			"since its approval is void then.",
		Args: arguments("TENANT", "MIGRATION"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		api, err := api.patient()
		if err != nil {
			return answer{}, err
		}
		t, err := lookAt(ctx, api, args[0], args[1])
		if err != nil {
			return answer{}, err
		}
		if t.Migration.State == "approved" && !p.execute {
			return p.rehearse(command, t), nil
		}
		made, err := api.PreviewMigrationWithResponse(ctx, args[0], args[1], p.wanted(command))
		if err != nil {
			return answer{}, err
		}
		return showPlan(made.JSON200.Plan), nil
	})
	flags := command.Flags()
	flags.Var(hashFlag{&p.qualification}, "qualification", "the `hash` of this build's qualification")
	demandFlag(command, "qualification")
	p.caps.add(flags)
	flags.Var(priceIn(&p.prices.ClassAPerMillion), "price-class-a", "US dollars for a million requests that change something")
	flags.Var(priceIn(&p.prices.ClassBPerMillion), "price-class-b", "US dollars for a million requests that read")
	flags.Var(priceIn(&p.prices.StoragePerGbMonth), "price-storage", "US dollars for a GB of 10^9 bytes a month")
	flags.Var(wholeFrom(&p.freeBytes, 1), "free-bytes", "what the fullest database has free, as its host tells: rehydrate needs to know")
	flags.BoolVar(&p.execute, "execute", false, "take the place of a plan that is approved")
	return command
}

// listPrices are the API's own.
var listPrices = holdfast.StorePrices{
	ClassAPerMillion: migration.DefaultPrices.ClassA, ClassBPerMillion: migration.DefaultPrices.ClassB, StoragePerGbMonth: migration.DefaultPrices.Storage,
}

// largestCaps are those of a plan that names none.
var largestCaps = holdfast.MigrationCaps{
	InspectedRows: migration.DefaultCaps.Inspected, Records: migration.DefaultCaps.Records,
	Bytes: migration.DefaultCaps.Bytes, BodiesInFlight: migration.DefaultCaps.InFlight,
}

// wanted is what the API is asked for.
func (p *previewing) wanted(command *cobra.Command) holdfast.NewMigrationPlan {
	want := holdfast.NewMigrationPlan{Qualification: p.qualification}
	if p.caps.any() {
		caps := p.caps.over(largestCaps)
		want.Caps = &caps
	}
	if p.prices != listPrices {
		want.Prices = &p.prices
	}
	if command.Flags().Changed("free-bytes") {
		want.FreeBytes = &p.freeBytes
	}
	return want
}

// rehearse is for a plan that is approved.
func (p *previewing) rehearse(command *cobra.Command, t target) answer {
	told := rehearsal{State: t.Migration.State, Allowed: true, Command: executing(command, ""),
		Would: fmt.Sprintf("A new plan would take the place of %s, whose approval would be void.", t.hash)}
	return answer{value: told, write: func(out io.Writer) error { return told.write(out, t.headline()) }}
}
