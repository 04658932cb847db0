package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// tenantExport is what was exported.
type tenantExport struct {
	Directory string `json:"directory"`
	Lines     int64  `json:"lines"`   // of export.ndjson
	Bodies    int64  `json:"bodies"`  // written, now or by a run before
	Bytes     int64  `json:"bytes"`   // of these
	Missing   int64  `json:"missing"` // bodies that could not be had
}

var exportView = view[tenantExport]{
	{"DIRECTORY", func(e tenantExport) string { return e.Directory }},
	{"LINES", func(e tenantExport) string { return fmt.Sprint(e.Lines) }},
	{"BODIES", func(e tenantExport) string { return fmt.Sprintf("%d of %d bytes", e.Bodies, e.Bytes) }},
	{"MISSING", func(e tenantExport) string { return fmt.Sprint(e.Missing) }},
}

func newTenantExport(r *remote) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "export TENANT --output DIR",
		Short: "Export everything that a tenant owns into a directory",
		Long: "Export everything that a tenant owns, while it is served, suspended, or in the grace of its deletion:\n" +
			"DIR/export.ndjson has a JSON object a line, and DIR/bodies each body of a record under its SHA-256.\n\n" +
			"Interrupted, it goes on where it was when it is called again with the same directory. Each body is\n" +
			"verified before it gets its name; one that changed meanwhile, or can't be had, is told, and the exit\n" +
			"code is 3. Suspend the tenant first for an export of one time. An export that is complete is not made\n" +
			"anew: another one takes another directory.",
		Args: arguments("TENANT"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		e := exporting{api: api, tenant: args[0], directory: output, bar: newProgress(command.ErrOrStderr()), log: command.ErrOrStderr()}
		defer e.bar.clear()
		if err := e.run(ctx); err != nil {
			return answer{}, err
		}
		e.bar.clear()
		shown := exportView.one(e.done)
		shown.differs = e.done.Missing > 0
		return shown, nil
	})
	command.Flags().StringVar(&output, "output", "", "the `directory`, which is made")
	if err := command.MarkFlagRequired("output"); err != nil {
		panic(err) // the flag is the line above
	}
	return command
}

// run brings the lines to their end, and then the bodies that they tell of.
func (e *exporting) run(ctx context.Context) error {
	e.done.Directory = e.directory
	if err := os.MkdirAll(filepath.Join(e.directory, "bodies"), 0o700); err != nil {
		return err
	}
	file, err := openExport(filepath.Join(e.directory, "export.ndjson"), e.tenant)
	if err != nil {
		return err
	}
	defer file.close()
	before := file.ended
	if err := e.lines(ctx, file); err != nil {
		return fmt.Errorf("%w\nWhat came is in %s; the same command goes on there", err, e.directory)
	}
	e.done.Lines = file.lines
	if err := e.bodies(ctx, file); err != nil {
		return err
	}
	if before && e.came == 0 && e.done.Missing == 0 {
		// It must not be taken for the tenant as it is now.
		return fmt.Errorf("the export in %s is complete already, made at %s; nothing was fetched.\nChoose another directory for a new one", e.directory, when(file.made))
	}
	return nil
}

// lines streams until the end, and goes on where a stream was cut off for as long as
// each brings something.
func (e *exporting) lines(ctx context.Context, file *exportFile) error {
	for !file.ended {
		before := file.kept
		response, err := e.api.ClientInterface.ExportTenant(ctx, e.tenant, &holdfast.ExportTenantParams{Cursor: file.cursor})
		if err != nil {
			return err
		}
		err = file.take(response.Body, func() { e.bar.show("%d lines", file.lines) })
		response.Body.Close()
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case file.ended:
		case file.kept == before && err != nil:
			return err
		case file.kept == before:
			return errors.New("the export was cut off")
		}
	}
	return nil
}
