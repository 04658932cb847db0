package schema

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/jobs/riverschema"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Report is told of each thing that was done to a database ("control" or a data
// database's name), as it is done.
type Report func(database, done string)

// Up makes the roles, applies what is pending, and opens the numbers that are
// open nowhere. Everything in it may be repeated: whatever an interrupted run
// left undone, the next one does. Two at once take turns.
//
// It refuses, with a WrongControlError and before anything is changed, a control
// database that isn't the one of the data databases.
//
// Roles belong to a server, and each database may be on one of its own, so they
// are made from each.
func Up(ctx context.Context, router *postgres.Router, passwords postgres.Passwords, report Report) error {
	if err := postgres.CheckDirect(ctx, router); err != nil {
		return err
	}
	unlock, err := postgres.LockSchema(ctx, router.Control())
	if err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	defer unlock()

	if err := checkControl(ctx, router); err != nil {
		return err
	}
	if err := upControl(ctx, router.Control(), passwords, report); err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	for _, db := range router.Databases() {
		if err := upData(ctx, db, passwords, report); err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
	}
	opened, err := postgres.OpenNumbers(ctx, router)
	if err != nil {
		return err
	}
	for _, db := range router.Databases() {
		if numbers := opened[db.Name]; len(numbers) > 0 {
			report(db.Name, "opened the numbers "+postgres.FormatNumbers(numbers))
		}
	}
	return nil
}

func upControl(ctx context.Context, control *pgxpool.Pool, passwords postgres.Passwords, report Report) error {
	if err := postgres.EnsureRoles(ctx, control, passwords); err != nil {
		return err
	}
	applied, err := postgres.Migrate(ctx, control, postgres.ControlSet)
	for _, name := range applied {
		report(controlName, "applied "+name)
	}
	if err != nil {
		return err
	}
	versions, err := riverschema.Migrate(ctx, control)
	for _, version := range versions {
		report(controlName, fmt.Sprintf("applied River's version %d", version))
	}
	return err
}

func upData(ctx context.Context, db *postgres.Database, passwords postgres.Passwords, report Report) error {
	if err := postgres.EnsureRoles(ctx, db.Pool, passwords); err != nil {
		return err
	}
	applied, err := postgres.Migrate(ctx, db.Pool, postgres.DataSet)
	for _, name := range applied {
		report(db.Name, "applied "+name)
	}
	return err
}
