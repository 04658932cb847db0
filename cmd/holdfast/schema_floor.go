package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newSchemaFloor(environ []string) *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "floor",
		Short: "Tell whether this build may be run on these databases, or is below their rollback floor",
		Long: "Tell whether this build may be run on these databases, or is below their rollback floor.\n\n" +
			"A floor only rises: by the migrations of a newer build, and by what had the databases demand a newer\n" +
			"storage format, such as the first qualification. A build below it would be refused, request by request,\n" +
			"so a deployment asks first. It changes nothing, and exits with 3 when this build is below the floor.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return asOwner(command.Context(), environ, func(_ config.Config, router *postgres.Router) error {
				lacks, err := schema.BelowFloor(command.Context(), router, schema.Known{
					RecordFormat: slices.Max(tenancy.KnownRecordFormats()),
					LeaseRules:   tenancy.KnownLeaseRules(),
				})
				if err != nil {
					return err
				}
				out := command.OutOrStdout()
				switch {
				case asJSON:
					err = json.NewEncoder(out).Encode(struct {
						Build string   `json:"build"`
						Lacks []string `json:"lacks"`
					}{telemetry.Build(), lacks})
				case len(lacks) == 0:
					_, err = fmt.Fprintf(out, "The build %s is not below the floor.\n", telemetry.Build())
				default:
					_, err = fmt.Fprintf(out, "The build %s is below the rollback floor:\n", telemetry.Build())
					for _, lack := range lacks {
						fmt.Fprintln(out, lack)
					}
				}
				if err == nil && len(lacks) > 0 {
					err = exitError{code: exitDiffers}
				}
				return err
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
