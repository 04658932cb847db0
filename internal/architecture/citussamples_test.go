package architecture

// citusSamples are statements that break a rule, and such that only look like it.
var citusSamples = []struct {
	sql    string
	breaks string // "" for none
}{
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number = $2 AND account_id = $3`, ""},
	{`SELECT handle FROM accounts WHERE number = $1 AND account_id = $2`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND account_id = $2`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 OR number = $2`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE NOT (tenant_id = $1 AND number = $2)`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE tenant_id >= $1 AND number = $2`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE tenant_id = account_id AND number = $2`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number = ANY ($2)`, ""},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number BETWEEN $2 AND $3`, ""},
	{`SELECT handle FROM accounts WHERE tenant_id BETWEEN $1 AND $2 AND number = $3`, "tenant and number"},
	{`SELECT handle FROM accounts WHERE (tenant_id, number) = ($1, $2)`, ""},
	{`SELECT a.handle FROM accounts a JOIN claims c ON c.owner_id = a.account_id WHERE a.tenant_id = $1 AND a.number = $2`, "tenant and number"},
	{`SELECT a.handle FROM accounts a JOIN claims c USING (tenant_id, number) WHERE a.tenant_id = $1 AND a.number = $2`, ""},
	{`SELECT a.handle FROM accounts a JOIN claims c ON c.tenant_id = a.tenant_id AND c.number = a.number WHERE a.tenant_id = $1 AND a.number = $2`, ""},
	{`SELECT 1 FROM unnest($2::smallint[]) AS k(n) CROSS JOIN LATERAL (SELECT FROM claims c WHERE c.tenant_id = $1 AND c.number = k.n LIMIT 1) c`, ""},
	{`SELECT 1 FROM unnest($2::smallint[]) AS k(n) CROSS JOIN LATERAL (SELECT FROM claims c WHERE c.number = k.n LIMIT 1) c`, "tenant and number"},
	{`SELECT EXISTS (SELECT FROM claims c WHERE c.tenant_id = $1 AND c.number = $2)`, ""},
	{`SELECT EXISTS (SELECT FROM claims c WHERE c.tenant_id = $1)`, "tenant and number"},
	{`SELECT FROM accounts a WHERE NOT EXISTS (SELECT FROM claims c WHERE c.tenant_id = $1 AND c.number = $2 AND (c.tenant_id, c.number) = (a.tenant_id, a.number))`, "tenant and number"},
	{`SELECT FROM accounts WHERE tenant_id = $1 AND number = $2 UNION ALL SELECT FROM accounts WHERE tenant_id = $1`, "tenant and number"},
	{`WITH c AS (SELECT tenant_id, number FROM claims) SELECT FROM c`, "tenant and number"},
	{`UPDATE accounts SET status = $4 WHERE account_id = $3`, "tenant and number"},
	{`DELETE FROM claims c USING accounts a WHERE c.tenant_id = $1 AND c.number = $2 AND a.tenant_id = $1`, "tenant and number"},
	{`INSERT INTO event_counters (tenant_id, value) VALUES ($1, $2)`, "tenant and number"},
	{`SELECT state FROM number_gates`, ""},

	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number = $2 AND account_id = $3 FOR UPDATE`, ""},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number = $2 FOR UPDATE`, "row locks by key"},
	{`SELECT handle FROM accounts WHERE tenant_id = $1 AND number = $2 AND handle = $3 FOR NO KEY UPDATE SKIP LOCKED`, "row locks by key"},
	{`SELECT FROM accounts a JOIN claims c ON c.tenant_id = $1 AND c.number = $2 WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id = $3 FOR UPDATE OF a`, ""},
	{`SELECT FROM accounts a JOIN claims c ON c.tenant_id = $1 AND c.number = $2 WHERE a.tenant_id = $1 AND a.number = $2 AND a.account_id = $3 FOR UPDATE`, "row locks by key"},

	{`WITH gone AS (DELETE FROM claims WHERE tenant_id = $1 AND number = $2 RETURNING key) SELECT count(*) FROM gone`, "data-modifying CTE"},

	{`UPDATE accounts SET updated_at = clock_timestamp() WHERE tenant_id = $1 AND number = $2`, "volatile function"},
	{`DELETE FROM claims WHERE tenant_id = $1 AND number = $2 AND expires_at < clock_timestamp()`, "volatile function"},
	{`DELETE FROM claims WHERE tenant_id = $1 AND number = $2 RETURNING gen_random_uuid()`, "volatile function"},
	{`UPDATE accounts SET updated_at = $3 WHERE tenant_id = $1 AND number = $2`, ""},
	{`UPDATE sweeps SET pass_ended_at = clock_timestamp()`, ""}, // no domain table

	{`UPDATE accounts SET display_name = to_char(updated_at, 'YYYY') WHERE tenant_id = $1 AND number = $2`, "function over columns"},
	{`DELETE FROM accounts WHERE tenant_id = $1 AND number = $2 RETURNING to_char(updated_at, 'YYYY')`, "function over columns"},
	{`INSERT INTO code_guesses (tenant_id, number) VALUES ($1, $2) RETURNING format('%L', tenant_id)`, "function over columns"},
	{`UPDATE accounts SET display_name = lower(handle) WHERE tenant_id = $1 AND number = $2`, ""},

	{`INSERT INTO accounts (tenant_id, number) VALUES ($1, $2) ON CONFLICT (tenant_id, number, account_id) DO UPDATE SET updated_at = now()`, "DO UPDATE"},
	{`INSERT INTO accounts (tenant_id, number) VALUES ($1, $2) ON CONFLICT (tenant_id, number, account_id) DO UPDATE SET updated_at = current_timestamp`, "DO UPDATE"},
	{`INSERT INTO accounts (tenant_id, number, updated_at) VALUES ($1, $2, now()) ON CONFLICT DO NOTHING`, ""},
	{`INSERT INTO accounts (tenant_id, number) VALUES ($1, $2) ON CONFLICT (tenant_id, number, account_id) DO UPDATE SET updated_at = excluded.updated_at`, ""},

	{`SELECT set_config('holdfast.tenant', $1, true)`, "set_config"},
	{`SELECT pg_advisory_lock(1)`, "session state"},
	{`SELECT pg_advisory_xact_lock(1)`, ""},
	{`SET lock_timeout = '1s'`, "session state"},
	{`SET LOCAL lock_timeout = '1s'`, ""},
	{`LISTEN entries`, "session state"},
	{`begin; commit`, "one statement"},
	{`SELECT WHERE FROM`, "one statement"},
}
