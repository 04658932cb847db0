// Package migrations carries the schema: numbered SQL for the control database
// and for each data database. Files are append-only once they have landed.
package migrations

import "embed"

// Control holds the control database's migrations, in the folder "control";
// Data holds a data database's, in "data". One database may be both.
var (
	//go:embed control/*.sql
	Control embed.FS
	//go:embed data/*.sql
	Data embed.FS
)
