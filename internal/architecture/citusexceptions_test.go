package architecture

// exception is a const that breaks a rule, and may.
type exception struct{ name, rule string }

const (
	checks    = "a check reads a tenant whole, a database at a time, to find what stands where it shouldn't"
	alone     = "restore reconcile runs it, in a tenant or a number that nobody is served in meanwhile"
	byPlace   = "the rows are found by tenant, number and key, and removed by where they stand"
	ownServer = "a setting for the coordinator alone: what it bounds is waited for there"
	ownersRun = "the owner's, when the schema is made: it is sent whole, to plain tables"
)

// exceptions are of those that serve or check.
var exceptions = map[exception]string{
	{"sqlCheckCollections", "tenant and number"}: checks,
	{"sqlCheckNameOf", "tenant and number"}:      checks,
	{"sqlCheckPlaces", "tenant and number"}:      checks,
	{"sqlCheckStrays", "tenant and number"}:      checks,

	{"sqlAnySkeleton", "tenant and number"}:    alone,
	{"sqlGatedTenants", "tenant and number"}:   alone,
	{"sqlLeftOfTenant", "tenant and number"}:   alone,
	{"sqlLockOldAccounts", "row locks by key"}: alone,
	{"sqlLockOldDevices", "row locks by key"}:  alone,

	{"sqlRemoveReceipts", "tenant and number"}:   byPlace,
	{"sqlRemoveBatchItems", "tenant and number"}: byPlace,
	{"sqlRemoveBatches", "tenant and number"}:    byPlace,
	{"sqlRemoveOldClaims", "tenant and number"}:  byPlace,

	{"sqlLockCollectionsCheckpoint", "row locks by key"}: "by the collection's name, of which there is one: an operator's act, in one tenant and number",

	{"sqlNotify", "set_config"}:        "what is told needs no disk: " + ownServer,
	{"sqlWaitLittle", "set_config"}:    "on the nodes the role's own lock_timeout bounds it: " + ownServer,
	{"sqlBoundCloseTry", "set_config"}: ownServer,

	{"sqlLockSchema", "session state"}: "the schema's lock, for which a pooler is refused",
	{"sqlGrants", "one statement"}:     ownersRun,
}

// beside are packages that aren't part of what runs on Citus.
var beside = map[string]string{
	"../fleet":   "moves numbers between plain databases, which Citus does with its shards by itself",
	"../testkit": "of tests",
}
