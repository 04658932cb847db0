package main

// Row is what the dashboard shows side by side about one thing.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is one graph.
type Panel struct {
	Title  string
	About  string // what it shows, and what is usual
	Unit   string // Grafana's name of one
	Series []Series
}

// Series is a query, and what its lines are called.
type Series struct {
	Query  string
	Legend string
}

// Rows are all of the dashboard, from what callers notice to what is behind it.
// What every worker reads from the databases (max by) is the same from each.
func Rows() []Row {
	return []Row{requests(), databases(), identity(), leases(), records(), migrations(), tenants(), jobs(), processes()}
}

func requests() Row {
	return Row{"Requests", []Panel{
		{"Requests", "Requests a second, by the class of their status.", "reqps", []Series{
			{`sum by (class) (label_replace(rate(http_server_request_duration_seconds_count[$__rate_interval]), "class", "${1}xx", "http_response_status_code", "(.).."))`, "{{class}}"},
		}},
		{"Latency", "How long requests take, all routes together. Streams last as long as their callers want.", "s", []Series{
			{`histogram_quantile(0.5, sum by (le) (rate(http_server_request_duration_seconds_bucket[$__rate_interval])))`, "half"},
			{`histogram_quantile(0.99, sum by (le) (rate(http_server_request_duration_seconds_bucket[$__rate_interval])))`, "99 of 100"},
		}},
		{"Slowest routes", "The ten routes with the highest 99th percentile.", "s", []Series{
			{`topk(10, histogram_quantile(0.99, sum by (le, http_request_method, http_route) (rate(http_server_request_duration_seconds_bucket[$__rate_interval]))))`, "{{http_request_method}} {{http_route}}"},
		}},
		{"Problems", "Refusals and failures a second, by their code.", "reqps", []Series{
			{`sum by (code) (rate(holdfast_http_problems_total[$__rate_interval]))`, "{{code}}"},
		}},
		{"Readiness", "1 for what is well. holdfast_ready is 0 in a drain too.", "short", []Series{
			{`min by (check) (holdfast_ready_check)`, "{{check}}"},
			{`holdfast_ready`, "{{instance}}"},
		}},
	}}
}

func databases() Row {
	return Row{"Databases", []Panel{
		{"Operations", "Statements and batches a second.", "ops", []Series{
			{`sum by (pgx_operation_type) (rate(db_client_operation_duration_seconds_count[$__rate_interval]))`, "{{pgx_operation_type}}"},
		}},
		{"Operation time", "How long 99 of 100 take, from here.", "s", []Series{
			{`histogram_quantile(0.99, sum by (le, pgx_operation_type) (rate(db_client_operation_duration_seconds_bucket[$__rate_interval])))`, "{{pgx_operation_type}}"},
		}},
		{"Pools", "How much of each pool is in use, where it is fullest.", "percentunit", []Series{
			{`max by (db_client_connection_pool_name) (db_client_connection_count{db_client_connection_state="used"} / ignoring(db_client_connection_state) db_client_connection_max)`, "{{db_client_connection_pool_name}}"},
		}},
		{"Waiting for connections", "Seconds that callers wait together, a second: 1 is somebody waiting all the time.", "short", []Series{
			{`sum by (db_client_connection_pool_name) (rate(holdfast_db_pool_waited_seconds_total[$__rate_interval]))`, "{{db_client_connection_pool_name}}"},
		}},
		{"Connections in vain", "Waits that found none free, and those that were given up, a second.", "ops", []Series{
			{`sum by (db_client_connection_pool_name) (rate(holdfast_db_pool_waits_total[$__rate_interval]))`, "waited {{db_client_connection_pool_name}}"},
			{`sum by (db_client_connection_pool_name) (rate(db_client_connection_timeouts_total[$__rate_interval]))`, "gave up {{db_client_connection_pool_name}}"},
		}},
		{"Shared transactions", "Decisions in one transaction, on average, by what they decide. It grows with the load.", "short", []Series{
			{`sum by (decision) (rate(holdfast_shared_decisions_sum[$__rate_interval])) / sum by (decision) (rate(holdfast_shared_decisions_count[$__rate_interval]))`, "{{decision}}"},
		}},
		{"Dead rows", "The ten tables with the most rows that wait for a vacuum.", "short", []Series{
			{`topk(10, max by (database, table) (holdfast_db_tuples_dead))`, "{{database}} {{table}}"},
		}},
		{"Rows", "The ten largest tables, as PostgreSQL estimates them.", "short", []Series{
			{`topk(10, max by (database, table) (holdfast_db_tuples_live))`, "{{database}} {{table}}"},
		}},
	}}
}

func identity() Row {
	return Row{"Identity", []Panel{
		{"Claims", "Keys that were claimed, and refused to somebody, a second.", "ops", []Series{
			{`sum by (family, outcome) (rate(holdfast_identity_claims_total[$__rate_interval]))`, "{{family}} {{outcome}}"},
		}},
		{"Unfinished changes", "Prepared and not cleared. A few, for as long as their requests last.", "short", []Series{
			{`max by (database) (holdfast_identity_operations_pending)`, "{{database}}"},
		}},
		{"Oldest unfinished change", "How long its deadline has passed. Seconds at most: the sweep comes each five.", "s", []Series{
			{`max by (database) (holdfast_identity_operations_overdue_seconds)`, "{{database}}"},
		}},
		{"User codes", "Codes that were entered, by what became of them, a second.", "ops", []Series{
			{`sum by (outcome) (rate(holdfast_identity_user_code_guesses_total[$__rate_interval]))`, "{{outcome}}"},
		}},
	}}
}

func leases() Row {
	return Row{"Leases", []Panel{
		{"Changes of writers", "Leases that were granted, by to whom, and ended since their time was over, a second.", "ops", []Series{
			{`sum by (to) (rate(holdfast_lease_grants_total[$__rate_interval]))`, "to a {{to}}"},
			{`sum(rate(holdfast_lease_expiries_total[$__rate_interval]))`, "expired"},
		}},
		{"Fenced appends", "Appends a second that were rejected since their writer had no lease in force. A node that hangs shows here.", "ops", []Series{
			{`sum(rate(holdfast_lease_appends_fenced_total[$__rate_interval]))`, "fenced"},
		}},
		{"Journal entries", "Written a second.", "ops", []Series{
			{`sum(rate(holdfast_lease_flush_entries_sum[$__rate_interval]))`, "entries"},
		}},
		{"Decisions in a flush", "On average. It grows with the load.", "short", []Series{
			{`sum(rate(holdfast_lease_flush_decisions_sum[$__rate_interval])) / sum(rate(holdfast_lease_flush_decisions_count[$__rate_interval]))`, "decisions"},
		}},
		{"Lateness of expiries", "How long leases outlast their time, 9 of 10.", "s", []Series{
			{`histogram_quantile(0.9, sum by (le) (rate(holdfast_lease_expiry_lateness_seconds_bucket[$__rate_interval])))`, "9 of 10"},
		}},
		{"Notifications", "That journals have gone on, a second; one tells of many.", "ops", []Series{
			{`sum by (outcome) (rate(holdfast_lease_notifications_total[$__rate_interval]))`, "{{outcome}}"},
		}},
	}}
}

func records() Row {
	return Row{"Records and bodies", []Panel{
		{"Requests to the object store", "A second, by operation and what they came to; without a word after it, done.", "reqps", []Series{
			{`sum by (rpc_method, error_type) (rate(rpc_client_call_duration_seconds_count[$__rate_interval]))`, "{{rpc_method}} {{error_type}}"},
		}},
		{"Object store's time", "How long 99 of 100 requests take, body and all.", "s", []Series{
			{`histogram_quantile(0.99, sum by (le, rpc_method) (rate(rpc_client_call_duration_seconds_bucket[$__rate_interval])))`, "{{rpc_method}}"},
		}},
		{"Retries", "Requests to the store that were made once more, a second.", "reqps", []Series{
			{`sum by (rpc_method) (rate(holdfast_bodies_retries_total[$__rate_interval]))`, "{{rpc_method}}"},
		}},
		{"Concurrency", "Requests to the store under way, and how many may be. It is halved when the store has too much.", "short", []Series{
			{`sum(holdfast_bodies_concurrency_used)`, "under way"},
			{`sum(holdfast_bodies_concurrency_limit)`, "allowed"},
		}},
		{"Memory for bodies", "How much of it is taken, where it is fullest.", "percentunit", []Series{
			{`max by (use, size) (holdfast_bodies_memory_used_bytes / holdfast_bodies_memory_limit_bytes)`, "{{use}} {{size}}"},
		}},
		{"Unreferenced bytes", "Objects to which nothing has referred for a day, as they were counted last.", "bytes", []Series{
			{`max by (database) (holdfast_record_unreferenced_bytes)`, "{{database}}"},
		}},
		{"Unreferenced objects", "How many they are.", "short", []Series{
			{`max by (database) (holdfast_record_unreferenced_objects)`, "{{database}}"},
		}},
		{"Wrong objects", "Objects that hold something else than was stored at their key. None, ever.", "short", []Series{
			{`sum(increase(holdfast_bodies_corrupt_total[1h]))`, "in an hour"},
		}},
	}}
}

func migrations() Row {
	return Row{"Migrations", []Panel{
		{"Open migrations", "By state. Those that are stopped wait for a review.", "short", []Series{
			{`max by (state) (holdfast_migration_open)`, "{{state}}"},
		}},
		{"Time in a state", "Of the migration that has been in it for longest.", "s", []Series{
			{`max by (state) (holdfast_migration_state_age_seconds)`, "{{state}}"},
		}},
		{"Records moved", "A second, and those that were left to the next sweep since somebody changed them meanwhile.", "ops", []Series{
			{`sum by (kind) (rate(holdfast_migration_records_total[$__rate_interval]))`, "{{kind}}"},
			{`sum by (kind) (rate(holdfast_migration_records_raced_total[$__rate_interval]))`, "{{kind}} raced"},
		}},
		{"Bytes moved", "Bytes of bodies a second.", "Bps", []Series{
			{`sum by (kind) (rate(holdfast_migration_moved_bytes_total[$__rate_interval]))`, "{{kind}}"},
		}},
		{"Bodies moved", "Bodies a second, and the objects that they needed.", "ops", []Series{
			{`sum by (kind) (rate(holdfast_migration_bodies_total[$__rate_interval]))`, "{{kind}}"},
			{`sum by (outcome) (rate(holdfast_migration_objects_total[$__rate_interval]))`, "objects {{outcome}}"},
		}},
		{"Passes", "A second: committed, fenced by another worker, made over.", "ops", []Series{
			{`sum(rate(holdfast_migration_passes_total[$__rate_interval]))`, "committed"},
			{`sum(rate(holdfast_migration_passes_fenced_total[$__rate_interval]))`, "fenced"},
			{`sum(rate(holdfast_migration_passes_retries_total[$__rate_interval]))`, "made over"},
		}},
		{"Unresolved sections", "Sections that no pass could move.", "short", []Series{
			{`max by (database) (holdfast_migration_unresolved)`, "{{database}}"},
		}},
		{"Oldest unresolved section", "How long it has waited for somebody's decision.", "s", []Series{
			{`max by (database) (holdfast_migration_unresolved_age_seconds)`, "{{database}}"},
		}},
	}}
}

func tenants() Row {
	return Row{"Tenants", []Panel{
		{"Tenants", "By state.", "short", []Series{
			{`max by (state) (holdfast_tenants)`, "{{state}}"},
		}},
		{"Stalled purges", "Purges whose last step could not be done, of tenants that aren't held. None.", "short", []Series{
			{`max(holdfast_purge_stalled)`, "stalled"},
		}},
		{"Age of purges' steps", "Of the purge that has not come on for longest, though it could. Seconds.", "s", []Series{
			{`max(holdfast_purge_step_age_seconds)`, "since the last step"},
		}},
	}}
}

func jobs() Row {
	return Row{"Jobs", []Panel{
		{"Queue", "Unfinished jobs, by kind.", "short", []Series{
			{`sum by (kind) (max by (kind, state) (holdfast_jobs_depth))`, "{{kind}}"},
		}},
		{"Oldest job", "How long the oldest unfinished job of a kind has been due.", "s", []Series{
			{`max by (kind) (holdfast_jobs_oldest_seconds)`, "{{kind}}"},
		}},
		{"Overdue schedules", "How long the next run has been due. The least is a second or two.", "s", []Series{
			{`max by (schedule) (holdfast_jobs_schedule_overdue_seconds)`, "{{schedule}}"},
		}},
		{"Leader", "Workers that lead: one.", "short", []Series{
			{`sum(holdfast_jobs_leader)`, "leaders"},
		}},
		{"Jobs worked", "A second, by kind and how they ended.", "ops", []Series{
			{`sum by (kind, status) (rate(river_work_count_total[$__rate_interval]))`, "{{kind}} {{status}}"},
		}},
		{"Job time", "How long 99 of 100 jobs take.", "s", []Series{
			{`histogram_quantile(0.99, sum by (le) (rate(messaging_process_duration_seconds_bucket[$__rate_interval])))`, "99 of 100"},
		}},
		{"Age of passes", "How long ago the last pass ended over the number that waits longest.", "s", []Series{
			{`max by (kind, family) (holdfast_sweep_pass_age_seconds)`, "{{kind}} {{family}}"},
		}},
		{"Swept", "Candidates that sweeps looked into, and those of them that were unfinished, a second.", "ops", []Series{
			{`sum by (kind, family) (rate(holdfast_sweep_visited_total[$__rate_interval]))`, "{{kind}} {{family}}"},
			{`sum by (kind, family) (rate(holdfast_sweep_recovered_total[$__rate_interval]))`, "recovered {{kind}} {{family}}"},
		}},
	}}
}

func processes() Row {
	return Row{"Processes", []Panel{
		{"Administrative acts", "Entries of the audit log a second, by outcome. An act has two: that it began, and how it ended.", "ops", []Series{
			{`sum by (outcome) (rate(holdfast_audit_entries_total[$__rate_interval]))`, "{{outcome}}"},
		}},
		{"Builds", "Processes of each build.", "short", []Series{
			{`count by (version) (holdfast_build_info)`, "{{version}}"},
		}},
		{"CPU", "Cores that each process uses.", "short", []Series{
			{`rate(process_cpu_seconds_total[$__rate_interval])`, "{{instance}}"},
		}},
		{"Memory", "Of each process, as the machine sees it.", "bytes", []Series{
			{`process_resident_memory_bytes`, "{{instance}}"},
		}},
		{"Goroutines", "Of each process. They follow the requests under way and the readers that follow journals.", "short", []Series{
			{`go_goroutines`, "{{instance}}"},
		}},
	}}
}
