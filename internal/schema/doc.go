// Package schema brings the databases of an installation to this build's
// schema, and tells how far they are from it: the roles, the control
// migrations, River's, the data migrations, and where the numbers are open.
//
// It runs as the owner. The processes that serve only check
// (postgres.CheckSchema, riverschema.Check).
package schema
