package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Passwords are those of the roles that serve: printable ASCII. An empty one
// leaves the role's password as it is.
type Passwords struct {
	API    string
	Worker string
}

// sqlCreateRole makes a role that can do nothing, or does nothing itself. Two
// that make one at the same time meet on the index of role names.
const sqlCreateRole = `
DO $$ BEGIN
    CREATE ROLE %s;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;
END $$`

// sqlLockRoles is a lock on all of the cluster, held until the transaction
// ends: the server takes a lock on the role that conflicts with itself. An
// advisory lock would not do, since each database has its own.
const sqlLockRoles = `
COMMENT ON ROLE holdfast_scanner IS 'Holdfast: owns the functions by which the worker scans all tenants'`

// sqlOwnerBecomesScanner lets the owner give its functions to the scanner. From
// PostgreSQL 16 on that takes a grant WITH SET, and granting their use
// afterwards takes WITH INHERIT; both are the default of a plain grant.
const sqlOwnerBecomesScanner = `GRANT holdfast_scanner TO holdfast_owner`

// sqlServingRole lets a role log in, bounds what a vanished client can hold, and
// keeps plans from resting on statistics: every statement that serves has an
// index for its keys, and a plan that was cached while a table was small must
// not scan it once it has grown.
const sqlServingRole = `
ALTER ROLE %[1]s LOGIN;
ALTER ROLE %[1]s SET lock_timeout = '3s';
ALTER ROLE %[1]s SET statement_timeout = '10s';
ALTER ROLE %[1]s SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE %[1]s SET enable_seqscan = off;
ALTER ROLE %[1]s SET plan_cache_mode = force_generic_plan;
ALTER ROLE %[1]s SET jit = off`

// sqlTooPowerful names the roles on which row-level security would not hold.
const sqlTooPowerful = `
SELECT r.rolname FROM pg_roles r
 WHERE r.rolname IN ('holdfast_api', 'holdfast_worker', 'holdfast_scanner')
   AND (r.rolsuper OR r.rolbypassrls OR pg_has_role(r.oid, 'holdfast_owner', 'MEMBER'))
    OR r.rolname IN ('holdfast_api', 'holdfast_worker') AND pg_has_role(r.oid, 'holdfast_scanner', 'MEMBER')
 ORDER BY r.rolname`

// EnsureRoles makes the fixed roles in the database's cluster, gives them their
// settings and the passwords that are known, and refuses roles on which
// row-level security would not hold. It may be repeated, and run at once from
// several databases of one cluster. It runs as the owner, who needs CREATEROLE
// and not to be a superuser.
func EnsureRoles(ctx context.Context, db *pgxpool.Pool, passwords Passwords) error {
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return ensureRolesTx(ctx, tx, passwords) })
	if err != nil {
		return fmt.Errorf("roles: %w", err)
	}
	return nil
}

func ensureRolesTx(ctx context.Context, tx pgx.Tx, passwords Passwords) error {
	statements := []string{
		fmt.Sprintf(sqlCreateRole, RoleScanner),
		sqlLockRoles,
		fmt.Sprintf(sqlCreateRole, RoleAPI),
		fmt.Sprintf(sqlCreateRole, RoleWorker),
		sqlOwnerBecomesScanner,
		fmt.Sprintf(sqlServingRole, RoleAPI),
		fmt.Sprintf(sqlServingRole, RoleWorker),
	}
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if err := setPasswordTx(ctx, tx, RoleAPI, passwords.API); err != nil {
		return err
	}
	if err := setPasswordTx(ctx, tx, RoleWorker, passwords.Worker); err != nil {
		return err
	}
	rows, _ := tx.Query(ctx, sqlTooPowerful)
	tooPowerful, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(tooPowerful) > 0 {
		return fmt.Errorf("row-level security would not hold for %v: they must not be superusers, "+
			"have BYPASSRLS, or be members of %s (or, serving, of %s)", tooPowerful, RoleOwner, RoleScanner)
	}
	return nil
}

func setPasswordTx(ctx context.Context, tx pgx.Tx, role, password string) error {
	if password == "" {
		return nil
	}
	verifier, err := scramVerifier(password)
	if err != nil {
		return err
	}
	// A verifier is base64, digits, '$' and ':', so it can stand between quotes.
	_, err = tx.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", role, verifier))
	return err
}
