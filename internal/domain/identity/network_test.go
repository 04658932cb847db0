package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// remote is another process on the directory's databases, which reaches them
// over a network that can fail.
type remote struct {
	*directory
	network *testkit.Proxied
}

func (d *directory) remote(t *testing.T, options Options) remote {
	t.Helper()
	network := d.in.Through(t)
	other := *d
	other.router = network.Router(t, postgres.RoleAPI)
	other.Service = New(other.router, testSecrets("server"), options)
	return remote{&other, network}
}

// die ends the process: nothing of it is under way any more, nor will be.
func (r remote) die() { r.router.Close() }

// down cuts a database off.
func (r remote) down(database string) {
	r.network.Proxy(database).Refuse()
	r.network.Proxy(database).CutAll()
}

// The commits of the protocol's steps.
var (
	prepareCommit = testkit.CommitOf("INSERT INTO operations")
	claimCommit   = testkit.CommitOf("INSERT INTO claims")
	createCommit  = testkit.CommitOf("INSERT INTO accounts")
)

// databases say where the parts of an account lie.
type databases struct{ account, handle, email string }

// requestOn makes a request, with an idempotency key, for an account whose parts
// lie on the databases given. The name keeps it apart from others.
func (d *directory) requestOn(name string, on databases) CreateAccount {
	first := func(format, database string, numberOf func(string) domain.Number) string {
		for i := 0; ; i++ {
			if key := numbered(name+format, i); d.router.Database(numberOf(key)).Name == database {
				return key
			}
		}
	}
	email := first("-%d@example.com", on.email, domain.NumberOf)
	return CreateAccount{
		Handle:        first("-%d", on.handle, domain.NumberOf),
		Email:         &email,
		EmailVerified: true,
		IdempotencyKey: first(" %d", on.account, func(key string) domain.Number {
			return accountRef(domain.DeriveID[domain.AccountKind](d.scope.Settings.IDKey, "account", d.scope.Principal.String(), key)).Number
		}),
	}
}

// stateOf is the whole state when exactly these were made, and nothing since.
func stateOf(made ...CreateAccount) state {
	var s state
	for _, req := range made {
		s.Accounts = append(s.Accounts, req.Handle+" "+*req.Email+" active rev 1")
		s.Claims = append(s.Claims, "email "+*req.Email+" of "+req.Handle, "handle "+req.Handle+" of "+req.Handle)
		s.Events = append(s.Events, req.Handle+" 1 account.created by principal [handle email]")
	}
	s.sort()
	return s
}
