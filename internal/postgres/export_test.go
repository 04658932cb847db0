package postgres

// What tests need and nobody else may use.
const (
	SQLCreateRole = sqlCreateRole
	SQLLockRoles  = sqlLockRoles
)

var (
	ScramVerifierWith = scramVerifierWith
	EnsureRolesTx     = ensureRolesTx
)
