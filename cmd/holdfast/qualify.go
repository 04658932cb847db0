package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/qualify"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func newQualify(environ []string) *cobra.Command {
	q := &qualifying{environ: environ}
	var file string
	command := &cobra.Command{
		Use:   "qualify",
		Short: "Find out whether this build can be trusted with bodies in the configured databases and bucket",
		Long: "Find out whether this build can be trusted with bodies in the configured databases and bucket: put the promises\n" +
			"of storage to the bucket, and take small collections through a migration there and back. The report is kept in the\n" +
			"control database, also one that didn't pass, and a migration's plan names it by the hash that is printed.\n\n" +
			"It reads and writes the databases, as the role holdfast_api, and the bucket, below qualification/ and below the\n" +
			"prefix of a tenant of its own, named qualification, whose few records stay. Traffic may go on. The first time in\n" +
			"an installation it has the databases refuse processes that know storage format 1 alone from then on; while one\n" +
			"is alive it doesn't.\n\n" +
			"The exit code is 3 when something isn't as it should be.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			q.out, q.progress = command.OutOrStdout(), newProgress(command.ErrOrStderr())
			defer q.progress.clear()
			report, hash, err := q.run(command.Context(), commandLine(command))
			if err != nil {
				return err
			}
			if err := q.show(&report, hash, file); err != nil {
				return err
			}
			if !report.Passed {
				return exitError{code: exitDiffers}
			}
			return nil
		},
	}
	command.Flags().StringVar(&file, "out", "", "a `FILE` for the report, in the form whose SHA-256 the hash is")
	command.Flags().BoolVar(&q.asJSON, "json", false, "print the hash and the report as JSON")
	return command
}

// commandLine is a command as it was given, for a report.
func commandLine(command *cobra.Command) string {
	text := command.CommandPath()
	command.Flags().Visit(func(f *pflag.Flag) { text += fmt.Sprintf(" --%s=%s", f.Name, f.Value) })
	return text
}

// qualifying is one run of the command.
type qualifying struct {
	environ  []string
	asJSON   bool
	out      io.Writer
	progress *progress
	made     int // observations
}

// run makes the qualification, and keeps it.
func (q *qualifying) run(ctx context.Context, commands ...string) (report migration.Qualification, hash migration.Hash, err error) {
	router, settings, err := openToCheck(ctx, q.environ)
	if err != nil {
		return report, hash, err
	}
	defer router.Close()
	of, named := settings.ObjectStore()
	if !named {
		return report, hash, exitError{exitUsage, fmt.Errorf("there is no object store to qualify for: name it by HOLDFAST_BODIES_ENDPOINT and what goes with it")}
	}
	bucket, err := objectstore.Open(ctx, of, objectstore.Options{})
	if err != nil {
		return report, hash, err
	}
	defer bucket.Close()
	if err := bucket.Probe(ctx); err != nil {
		return report, hash, fmt.Errorf("nothing was begun, since the object store doesn't let this key in to the bucket %q, or has none of that name, or doesn't answer: look at HOLDFAST_BODIES_… and AWS_…", of.Bucket)
	}
	suite := q.suite(router, settings, bucket)
	suite.Commands = commands
	q.progress.show("qualifying %s", telemetry.Build())
	if report, err = suite.Run(ctx); err != nil {
		return report, hash, plainly(err)
	}
	// A report is kept by its hash, so that repeating this after an unknown outcome
	// would be harmless; the whole command can be repeated too.
	if hash, err = suite.Migrations.RecordQualification(ctx, report); err != nil {
		return report, hash, fmt.Errorf("the report could not be kept: %w", plainly(err))
	}
	return report, hash, nil
}

func (q *qualifying) suite(router *postgres.Router, settings config.Config, bucket *objectstore.Bucket) *qualify.Suite {
	records := record.New(router, nil, bucket, record.Options{}) // its collections are bound to no world, and ask for no lease
	tenants := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	return &qualify.Suite{
		Router: router, Records: records, Store: bucket, Caller: byPassword(), Seen: q.seen,
		Migrations: migration.New(router, tenants, records, migration.Options{
			Build: telemetry.Build(), Place: migration.PlaceOf(settings.Bodies.Endpoint, settings.Bodies.Bucket),
		}),
	}
}

// seen shows an observation as it is made.
func (q *qualifying) seen(o migration.Observation) {
	q.made++
	if q.asJSON {
		q.progress.show("%d promises looked at, the last one: %s", q.made, o.Promise)
		return
	}
	q.progress.clear()
	outcome := "ok  "
	if !o.Passed {
		outcome = "FAIL"
	}
	fmt.Fprintf(q.out, "%s  %s (%s)\n", outcome, o.Promise, o.Detail)
	q.progress.show("%d promises looked at", q.made)
}

// show says what came of it, and writes the report to a file, if one is named.
func (q *qualifying) show(report *migration.Qualification, hash migration.Hash, file string) error {
	q.progress.clear()
	if file != "" {
		text, err := report.Canonical()
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("the report is kept as %s, and could not be written: %w", hash, err)
		}
	}
	if q.asJSON {
		return json.NewEncoder(q.out).Encode(struct {
			Hash   migration.Hash           `json:"hash"`
			Report *migration.Qualification `json:"report"`
		}{hash, report})
	}
	verdict := "is qualified"
	if !report.Passed {
		verdict = "is NOT qualified"
	}
	_, err := fmt.Fprintf(q.out, "\n%s %s for %d databases and the bucket %s at %s.\nThe report's hash is %s\n",
		report.Build, verdict, len(report.Databases), report.Store.Bucket, report.Store.Endpoint, hash)
	return err
}
