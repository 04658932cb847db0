package tenancy

// Restore is the purpose of the owner's work behind a restore: in numbers that are
// closed and in those that are open, whatever state the tenant is in. The table in
// enter doesn't have it, since the roles that serve can't enter for it.
const Restore Purpose = "restore"

// sqlEnterRestore stands where sqlEnter does. The identity layout isn't looked at:
// there is one.
const sqlEnterRestore = `SELECT enter_restore($1, $2, $3, $4)`
