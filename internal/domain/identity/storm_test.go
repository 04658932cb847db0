package identity

import (
	"context"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// attempt is a creation in the storm and what its caller was told.
type attempt struct {
	req     CreateAccount
	created Created
	err     error
}

// While creations go on, the backends of one database after the other are
// terminated. What a caller was told then is what is true.
func TestBackendsTerminatedInAStorm_EveryAnswerWasTrue(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	process := d.with(Options{})
	process.router = d.in.Router(t, postgres.RoleAPI)
	process.Service = New(process.router, testSecrets("server"), Options{})

	attempts := process.storm(t, 240)
	process.router.Close() // nothing arrives late
	for _, db := range d.router.Databases() {
		db.Pool.Reset() // our own backends were terminated too
	}
	d.checkInvariants(t, false)
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)

	told := map[domain.Kind]int{}
	var made []CreateAccount
	for _, a := range attempts {
		if a.err != nil {
			told[domain.KindOf(a.err)]++
		}
		if d.expectTrue(t, a) {
			made = append(made, a.req)
		}
	}
	d.expectState(t, stateOf(made...))
	d.retryUnknown(t, attempts)
	d.checkInvariants(t, true)

	acknowledged := len(attempts) - told[domain.KindUnavailable] - told[domain.KindOutcomeUnknown]
	t.Logf("%d creations: %d acknowledged, %d unavailable, %d of unknown outcome; %d were made", len(attempts),
		acknowledged, told[domain.KindUnavailable], told[domain.KindOutcomeUnknown], len(made))
	if acknowledged == 0 || acknowledged == len(attempts) {
		t.Error("that was no storm")
	}
}

// storm makes creations at once, from several callers. Each time that some have
// ended, a database loses all of the process's backends.
func (d *directory) storm(t *testing.T, n int) []attempt {
	t.Helper()
	const callers, between = 8, 6
	attempts := make([]attempt, n)
	next, ended := make(chan int, n), make(chan struct{}, n)
	for i := range n {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := range next {
				a := &attempts[i]
				email := numbered("storm-%d@example.com", i)
				a.req = CreateAccount{Handle: numbered("storm-%d", i), Email: &email, EmailVerified: true, IdempotencyKey: numbered("%d", i)}
				a.created, a.err = d.Create(context.Background(), d.scope, a.req)
				ended <- struct{}{}
			}
		})
	}
	for i := range n {
		<-ended
		if i%between == 0 {
			d.terminate(t, d.router.Databases()[i/between%3].Name)
		}
	}
	all.Wait()
	return attempts
}

// terminate ends the backends of all API processes on a database.
func (d *directory) terminate(t *testing.T, database string) {
	t.Helper()
	_, err := d.in.Admin(t, database).Exec(t.Context(), `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api'`)
	if err != nil {
		t.Error(err)
	}
}

// expectTrue holds what a caller was told against what there is, and tells
// whether the account was made.
func (d *directory) expectTrue(t *testing.T, a attempt) (made bool) {
	t.Helper()
	found, err := d.LookupHandle(t.Context(), d.scope, a.req.Handle)
	if err != nil && domain.KindOf(err) != domain.KindNotFound {
		t.Fatal(err)
	}
	made = err == nil
	switch kind := domain.KindOf(a.err); {
	case a.err == nil && (!made || found.ID != a.created.Account.ID || found.Revision != 1):
		t.Errorf("%s was acknowledged as %v, and there is %+v", a.req.Handle, a.created.Account.ID, found)
	case kind == domain.KindUnavailable && made:
		t.Errorf("%s was called unavailable (%v), and it was made", a.req.Handle, a.err)
	case a.err != nil && kind != domain.KindUnavailable && kind != domain.KindOutcomeUnknown:
		t.Errorf("%s got %v", a.req.Handle, a.err)
	}
	return made
}

// retryUnknown finds out, by its key, what became of each creation of unknown
// outcome.
func (d *directory) retryUnknown(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		if domain.KindOf(a.err) != domain.KindOutcomeUnknown {
			continue
		}
		_, err := d.LookupHandle(t.Context(), d.scope, a.req.Handle)
		made := err == nil
		retried, err := d.Create(t.Context(), d.scope, a.req)
		if err != nil || retried.Replayed != made {
			t.Errorf("%s, made before: %v; the retry got %+v, %v", a.req.Handle, made, retried, err)
		}
	}
}
