package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// version is what a binary can say of itself without asking anybody.
type version struct {
	Build         string `json:"build"` // see telemetry.Build
	Go            string `json:"go"`
	ControlSchema int64  `json:"control_schema"` // the latest version that it knows
	DataSchema    int64  `json:"data_schema"`
	RecordFormats []int  `json:"record_formats"`
	LeaseRules    int16  `json:"lease_rules"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Tell which build this is, and what it knows",
		Long: "Tell which build this is, and what it knows. A build is its commit, and the API and the worker of the\n" +
			"same commit have the same name; they print it with --version.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			v, err := ownVersion()
			if err != nil {
				return err
			}
			out := command.OutOrStdout()
			if asJSON {
				return json.NewEncoder(out).Encode(v)
			}
			_, err = fmt.Fprintf(out, "build           %s\ngo              %s\nschema          control %d, data %d\nrecord formats  %s\nlease rules     %d\n",
				v.Build, v.Go, v.ControlSchema, v.DataSchema, formatsOf(v.RecordFormats), v.LeaseRules)
			return err
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return command
}

func ownVersion() (version, error) {
	v := version{Build: telemetry.Build(), Go: runtime.Version(), LeaseRules: tenancy.KnownLeaseRules()}
	for _, format := range tenancy.KnownRecordFormats() {
		v.RecordFormats = append(v.RecordFormats, int(format))
	}
	for set, latest := range map[postgres.MigrationSet]*int64{postgres.ControlSet: &v.ControlSchema, postgres.DataSet: &v.DataSchema} {
		versions, err := set.Versions()
		if err != nil {
			return version{}, err
		}
		*latest = slices.Max(versions)
	}
	return v, nil
}
