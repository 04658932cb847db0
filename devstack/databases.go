package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// owner is the role that owns the databases and their schema. It isn't a
// superuser, as it isn't one in a hosted database.
const owner = "holdfast_owner"

const controlDatabase = "holdfast_control"

// dataName is the name of the n-th data database in the placement, n from 1.
func dataName(n int) string { return fmt.Sprintf("data%d", n) }

// dataDatabase is the name of the n-th data database in the server.
func dataDatabase(n int) string { return "holdfast_" + dataName(n) }

// prepare makes the owner and the databases that aren't there yet, through the
// superuser's connection at adminURL.
func (s secrets) prepare(ctx context.Context, adminURL string) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))

	// CREATE takes no parameters; the password is hex, and quoting can't go wrong.
	create := fmt.Sprintf("CREATE ROLE %s LOGIN CREATEROLE PASSWORD '%s'", owner, s.OwnerPassword)
	if err := createUnless(ctx, conn, "SELECT FROM pg_roles WHERE rolname = $1", owner, create); err != nil {
		return err
	}
	names := []string{controlDatabase}
	for n := 1; n <= s.Databases; n++ {
		names = append(names, dataDatabase(n))
	}
	for _, name := range names {
		create := fmt.Sprintf("CREATE DATABASE %s OWNER %s", name, owner)
		if err := createUnless(ctx, conn, "SELECT FROM pg_database WHERE datname = $1", name, create); err != nil {
			return err
		}
	}
	return nil
}

// createUnless runs create unless exists finds name.
func createUnless(ctx context.Context, conn *pgx.Conn, exists, name, create string) error {
	tag, err := conn.Exec(ctx, exists, name)
	if err != nil {
		return err
	}
	if tag.RowsAffected() > 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, create); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}
