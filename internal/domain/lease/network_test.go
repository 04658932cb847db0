package lease

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// remote is another process on the coordinator's databases, which reaches them
// over a network that can fail.
type remote struct {
	*coordinator
	network *testkit.Proxied
}

func (c *coordinator) remote(t *testing.T) remote {
	t.Helper()
	network := c.in.Through(t)
	other := *c
	other.router = network.Router(t, postgres.RoleAPI)
	other.Service = New(other.router, testSecrets("server"), Options{})
	return remote{&other, network}
}

// as is another principal at the same process.
func (r remote) as(name string) remote { return remote{r.coordinator.as(name), r.network} }

// die ends the process: nothing of it is under way any more, nor will be.
func (r remote) die() { r.router.Close() }

// The moments of a decision.
var (
	lockHeads    = testkit.Statement("FOR NO KEY UPDATE SKIP LOCKED")
	foundBusy    = testkit.Statement(sqlWhichExist) // a head was another process's, and is left out
	writeEntries = testkit.Statement("INSERT INTO journal")
	commitHeads  = testkit.CommitOf("INSERT INTO worlds")
)

// terminate ends the backends of all API processes.
func (c *coordinator) terminate(t testing.TB) {
	t.Helper()
	c.everywhere(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = $1`, postgres.RoleAPI)
}
