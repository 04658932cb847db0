package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
)

func newSchema(environ []string) *cobra.Command {
	command := &cobra.Command{
		Use:   "schema",
		Short: "Make and check the databases' schema",
		Long: "Make and check the databases' schema.\n\n" +
			"These commands connect as the role holdfast_owner, directly and through no pooler.\n" +
			"It owns the databases and has CREATEROLE; it is no superuser:\n\n" +
			"  CREATE ROLE holdfast_owner LOGIN CREATEROLE PASSWORD '…';\n" +
			"  CREATE DATABASE … OWNER holdfast_owner;",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newSchemaUp(environ), newSchemaStatus(environ), newSchemaFloor(environ))
	return command
}

func newSchemaUp(environ []string) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Make the roles, apply pending migrations, and open the numbers",
		Long: "Make the roles, apply pending migrations, and open the numbers that are open nowhere yet.\n" +
			"It may be repeated, and does nothing where nothing is pending.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return asOwner(command.Context(), environ, func(c config.Config, router *postgres.Router) error {
				passwords := postgres.Passwords{API: c.APIPassword.Reveal(), Worker: c.WorkerPassword.Reveal()}
				last := actSubjects{} // what was done, by the database
				err := schema.Up(command.Context(), router, passwords, func(database, done string) {
					last[database] = done
					fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", database, done)
				})
				if len(last) > 0 {
					err = tellSchemaUp(command.Context(), router, last, err)
				}
				if err == nil {
					fmt.Fprintln(command.OutOrStdout(), "The schema is up to date.")
				}
				return err
			})
		},
	}
}

// asOwner calls fn with the configuration of the schema's commands, and the
// databases as their owner sees them.
func asOwner(ctx context.Context, environ []string, fn func(config.Config, *postgres.Router) error) error {
	c, err := config.Load(config.Schema, environ)
	if err != nil {
		return exitError{exitUsage, fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	router, err := postgres.Open(ctx, c.Postgres())
	if err != nil {
		return err
	}
	defer router.Close()
	return fn(c, router)
}
