package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// run executes one command line and gives the process's exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	root := newRoot(environ)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var exit exitError
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &exit): // cobra's own: the command line
		fmt.Fprintf(stderr, "holdfast: %v\nholdfast --help lists the commands.\n", err)
		return exitUsage
	case exit.err != nil:
		fmt.Fprintf(stderr, "holdfast: %v\n", exit.err)
	}
	return exit.code
}

// newRoot is the command with all that is under it. Commands read the given
// environment and no other.
func newRoot(environ []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "The operator's command line of Holdfast",
		Long:          "The operator's command line of Holdfast.\n\n" + exitCodes,
		Version:       telemetry.Build(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("holdfast {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newSchema(environ), newBench(environ), newQualify(environ), newVersion(), newProbe())
	api := &remote{environ: environ}
	root.AddCommand(newTenant(api), newPrincipal(api), newKey(api), newClient(api), newIssuer(api), newOperator(api), newAudit(api), newToken(api), newIdentity(api), newLease(api), newJournal(api), newRecord(api),
		newMigration(api), newQualification(api), newDeployments(api), newRestore(api), newFleet(api))
	codeErrors(root)
	return root
}
