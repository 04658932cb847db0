package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newMigrationRequest(r *remote) *cobra.Command {
	return newAsking(r, holdfast.NewTenantMigrationRecordBodies, &cobra.Command{
		Use:   "request TENANT",
		Short: "Ask for a tenant's bodies to be moved from the database to the object store",
	}, "moved from the database to the object store")
}

func newMigrationRehydrate(r *remote) *cobra.Command {
	return newAsking(r, holdfast.NewTenantMigrationRehydrate, &cobra.Command{
		Use:   "rehydrate TENANT",
		Short: "Ask for a tenant's bodies to be brought back from the object store into the database",
	}, "brought back from the object store into the database")
}

// newAsking completes a command that asks for a migration of a kind.
func newAsking(r *remote, kind holdfast.NewTenantMigrationKind, command *cobra.Command, done string) *cobra.Command {
	var collections []string
	var execute bool
	command.Long = command.Short + ".\n\n" +
		"Nothing moves by it: it is a migration to be previewed, approved by another operator, and activated.\n\n" +
		"Without --execute it says what it would do, and changes nothing."
	command.Args = arguments("TENANT")
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		want := holdfast.NewTenantMigration{Kind: kind}
		if collections != nil {
			want.Collections = &collections
		}
		if !execute {
			return rehearseAsking(ctx, api, command, args[0], want, done)
		}
		made, err := api.RequestTenantMigrationWithResponse(ctx, args[0], nil, want)
		if err != nil {
			return answer{}, err
		}
		return migrationView.one(*made.JSON201), nil
	})
	command.Flags().StringSliceVar(&collections, "collections", nil, "the `names` of the collections, separated by commas; all, and those made meanwhile, without it")
	command.Flags().BoolVar(&execute, "execute", false, "do it; without it nothing is changed")
	return command
}

func rehearseAsking(ctx context.Context, api caller, command *cobra.Command, tenant string, want holdfast.NewTenantMigration, done string) (answer, error) {
	all, err := migrationsOf(ctx, api, tenant)
	if err != nil {
		return answer{}, err
	}
	which := "all collections, and of those that are made meanwhile"
	if want.Collections != nil {
		which = "the collections " + strings.Join(*want.Collections, ", ")
	}
	told := rehearsal{
		Allowed: true, Command: executing(command, ""),
		Would: fmt.Sprintf("It would ask for the bodies of %s to be %s. Nothing moves by that.\nMigrations of the tenant that aren't over: %d.",
			which, done, len(openOnes(all))),
	}
	return answer{value: told, write: func(out io.Writer) error { return told.write(out, "Tenant "+tenant+".") }}, nil
}

// openOnes are those of some migrations that aren't over.
func openOnes(all []holdfast.Migration) []holdfast.Migration {
	open := []holdfast.Migration{}
	for _, m := range all {
		if m.State != "closed" && m.State != "aborted" {
			open = append(open, m)
		}
	}
	return open
}
