package identity

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestCleanup_ScansAreOnTheirIndexes holds the functions by which the worker
// looks into all tenants to the indexes that are made for them.
func TestCleanup_ScansAreOnTheirIndexes(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.fillForPlans(t)
	admin := d.in.Admin(t, "data1")
	scans := map[string]string{
		"sweep_operations":              "operations_by_deadline",
		"sweep_claims":                  "claims_by_owner",
		"cleanup_lapsed_devices":        "devices_lapsing",
		"cleanup_revoked_devices":       "devices_revoked",
		"cleanup_expired_codes":         "claims_by_expiry",
		"cleanup_ended_quarantines":     "accounts_quarantined",
		"cleanup_devices_of_deleted":    "accounts_with_devices",
		"cleanup_tombstones":            "accounts_entombed",
		"cleanup_doubtful_links":        "account_devices_doubtful",
		"cleanup_expired_email_changes": "email_changes_by_expiry",
		"cleanup_old_code_guesses":      "code_guesses_by_end",
		"cleanup_old_events":            "event_counters_by_number",
	}
	rows, _ := admin.Query(t.Context(), `
SELECT proname::text FROM pg_proc WHERE proowner = 'holdfast_scanner'::regrole AND prosecdef
   AND proname NOT IN ('sweep_backlog', 'deferred_sections') AND proname NOT LIKE 'sweep\_worlds\_%' AND proname NOT LIKE 'sweep\_numbers\_%'
   AND proname NOT LIKE 'upkeep\_%'`)
	named, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range named {
		if scans[function] == "" {
			t.Errorf("%s is held to no index", function)
		}
	}
	for _, when := range []string{"with some rows", "with some rows, analyzed"} {
		for function, index := range scans {
			plan := testkit.FunctionPlan(t, admin, function)
			if !strings.Contains(plan, index+" ") || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s: %s is planned as\n%s\nwant it on %s", when, function, plan, index)
			}
		}
		if _, err := admin.Exec(t.Context(), `ANALYZE`); err != nil {
			t.Fatal(err)
		}
	}
}

// fillForPlans makes rows of many tenants, some of each kind that the cleanup looks for,
// in every number of a database as if it had all.
func (d *directory) fillForPlans(t *testing.T) {
	t.Helper()
	const each = `FROM generate_series(0, 63) n, generate_series(1, 60) i`
	for _, sql := range []string{
		`INSERT INTO accounts (tenant_id, number, account_id, revision, status, handle, handle_key, handle_token, attributes, created_at, updated_at, deleted_at, quarantined_until)
		 SELECT gen_random_uuid(), n, gen_random_uuid(), 1, CASE WHEN i % 10 = 0 THEN 'deleted' ELSE 'active' END, 'h', 'h', gen_random_uuid(), '{}', now(), now(), now(), CASE WHEN i % 10 = 0 THEN now() END ` + each,
		`UPDATE accounts SET quarantined_until = NULL, handle = NULL, handle_key = NULL, handle_token = NULL, devices_removed_at = now() WHERE status = 'deleted' AND number % 3 = 0`,
		`INSERT INTO devices (tenant_id, number, device_id, revision, status, scopes, user_code, user_code_token, expires_at, poll_interval, refresh_generation, created_at, updated_at)
		 SELECT gen_random_uuid(), n, gen_random_uuid(), 1, CASE WHEN i % 10 = 0 THEN 'revoked' ELSE 'pending' END, '{}', 'BBBBBBBB', gen_random_uuid(), now(), 5, 0, now(), now() ` + each,
		`INSERT INTO account_devices SELECT tenant_id, number, account_id, gen_random_uuid(), n % 10 > 0, now() FROM accounts, generate_series(1, 3) n`,
		`INSERT INTO claims (tenant_id, number, family, key, owner_family, owner_id, token, rules, expires_at)
		 SELECT gen_random_uuid(), n, CASE WHEN i % 10 = 0 THEN 'device-code' ELSE 'handle' END, 'k', 'account', gen_random_uuid(), gen_random_uuid(), 1, CASE WHEN i % 10 = 0 THEN now() END ` + each,
		`INSERT INTO operations (tenant_id, number, family, record_id, token, state, deadline, base_revision, proposal, new_links, old_links, traceparent)
		 SELECT gen_random_uuid(), n, 'account', gen_random_uuid(), gen_random_uuid(), 'prepared', now(), 0, '{}', '[]', '[]', '' ` + each,
		`INSERT INTO email_changes SELECT gen_random_uuid(), n, gen_random_uuid(), gen_random_uuid(), 'e', 'e', decode(repeat('00', 32), 'hex'), 'k', 0, now(), now() ` + each,
		`INSERT INTO code_guesses SELECT gen_random_uuid(), n, gen_random_uuid(), '{}', now() ` + each,
		`INSERT INTO event_counters SELECT gen_random_uuid(), n, 10 ` + each,
		`INSERT INTO events SELECT tenant_id, number, 'account', gen_random_uuid(), 1, i, 'account.created', '{}', 'holdfast', NULL, now() FROM event_counters, generate_series(1, 10) i`,
	} {
		d.everywhere(t, sql)
	}
}
