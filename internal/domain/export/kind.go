package export

// kind is one sort of lines. Its statement gives up to $4 of them behind the key $3 in
// number $2 (or, in the control database, $2 lines behind the key $1), each with its
// own key, as text, and as JSON.
type kind struct {
	name  string
	table string
	sql   string
	first []string // a key before all others
}

// Keys before all others, by what they are made of.
const (
	noID     = "00000000-0000-0000-0000-000000000000"
	noText   = ""
	noNumber = "-1"
)

// controlKinds are those of the control database, in their order.
var controlKinds = []kind{
	{"tenant", "tenants", sqlTenant, []string{noID}},
	{"tenant_limits", "tenant_limits", sqlTenantLimits, []string{noID}},
	{"principal", "principals", sqlPrincipals, []string{noID}},
	{"api_key", "api_keys", sqlAPIKeys, []string{noID}},
	{"client", "clients", sqlClients, []string{noID}},
	{"issuer", "issuers", sqlIssuers, []string{noID}},
	{"migration", "migrations", sqlMigrations, []string{noID}},
	{"migration_plan", "migration_plans", sqlMigrationPlans, []string{noID, noText}},
	{"migration_transition", "migration_transitions", sqlMigrationTransitions, []string{noID, noNumber}},
	{"migration_report", "migration_reports", sqlMigrationReports, []string{noID, noID}},
}

// numberKinds are those of each number, in their order. Journal entries have none: they
// are read world by world, as the journal itself gives them.
var numberKinds = []kind{
	{"account", "accounts", sqlAccounts, []string{noID}},
	{"email_change", "email_changes", sqlEmailChanges, []string{noID}},
	{"device", "devices", sqlDevices, []string{noID}},
	{"account_device", "account_devices", sqlAccountDevices, []string{noID, noID}},
	{"event", "events", sqlEvents, []string{noNumber}},
	{"world", "worlds", sqlWorlds, []string{noText}},
	{kindEntry, "journal", "", []string{noText, noNumber}},
	{"checkpoint", "checkpoints", sqlCheckpoints, []string{noText, noNumber}},
	{"collection", "collections", sqlCollections, []string{noText}},
	{"record", "records", sqlRecords, []string{noID, noText}},
	{"section", "sections_in_sql", sqlSectionsInSQL, []string{noID, noText, noText}},
	{"section", "sections_in_store", sqlSectionsInStore, []string{noID, noText, noText}},
	{"receipt", "receipts", sqlReceipts, []string{noID, noText}},
	{"fence", "fences", sqlFences, []string{noID, noText}},
	{"batch", "batches", sqlBatches, []string{noID, noText}},
	{"batch_item", "batch_items", sqlBatchItems, []string{noID, noText, noText}},
	{"snapshot", "snapshots", sqlSnapshots, []string{noID, noID}},
}

const kindEntry = "journal_entry"
