package identity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// lineOn makes a line for an account whose parts lie on the databases given.
func (d *directory) lineOn(name string, on databases) ImportLine {
	req := d.requestOn(name, on)
	for i := 0; ; i++ {
		key := numbered(name+" %d", i)
		if d.router.Database(accountRef(d.imported(key)).Number).Name == on.account {
			return accountLine(key, req.Handle, *req.Email)
		}
	}
}

func stateOfLines(lines ...ImportLine) state {
	var made []CreateAccount
	for _, line := range lines {
		made = append(made, CreateAccount{Handle: line.Account.Handle, Email: line.Account.Email, EmailVerified: true})
	}
	return stateOf(made...)
}

func TestImport_AKeyThatIsJustBeingClaimed_IsWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Deadline: time.Second, Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.tryCreate(t.Context(), "ghost", "contested@example.com"); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	line := accountLine("1", "heir", "contested@example.com")
	expectResults(t, d.importAll(t, line), "1 1 created")
	d.expectState(t, stateOfLines(line))
	d.checkInvariants(t, true)
}

func TestImport_AKeyThatStaysPending_FailsTheLineWithinItsBound(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Deadline: time.Hour, Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.tryCreate(t.Context(), "ghost", "contested@example.com"); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	impatient := d.with(Options{Deadline: time.Second})
	expectResults(t, impatient.importAll(t, accountLine("1", "heir", "contested@example.com"), accountLine("2", "ada", "")),
		"1 1 claim_pending /email", "2 2 created")
	d.checkInvariants(t, false)
}

func TestImport_AnotherLineUnderAKeyThatIsUnderWay_IsRefused(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	dying := d.with(Options{Deadline: time.Hour, Faults: &crashAt{point: "claimed", nth: 1}})
	if _, err := dying.tryImport(t.Context(), accountLine("1", "ada", "")); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	results := d.importAll(t, accountLine("1", "ben", ""))
	expectResults(t, results, "1 1 idempotency_key_reused /key")
}

func TestImport_AnAnswerThatIsLost_IsFoundOut(t *testing.T) {
	t.Parallel()
	for name, committed := range map[string]bool{"behind the commit": true, "before it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDirectory(t, Options{})
			r := d.remote(t, Options{Deadline: time.Second})
			line := d.lineOn("ada", together)
			if committed {
				r.network.CutAfter(t, createCommit)
			} else {
				r.network.CutBefore(t, createCommit)
			}
			expectResults(t, r.importAll(t, line), "1 "+line.Key+" created")
			expectResults(t, r.importAll(t, line), "1 "+line.Key+" exists")
			d.expectState(t, stateOfLines(line))
			d.checkInvariants(t, true)
		})
	}
}

// Only the first lines wait for a database that is down: the rest would take as
// long each, one window after the other.
func TestImport_ADatabaseThatIsDown_FailsItsLinesAndNoOthers(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{Deadline: time.Second})
	good, bad := d.lineOn("good", elsewhere), d.lineOn("bad", needingData2[0])
	next := linesOf([]ImportLine{bad, good})
	var results []string
	err := r.Import(t.Context(), d.scope, func() (ImportLine, error) {
		r.down("data2") // behind the gates, which are entered first
		return next()
	}, func(result ImportResult) error {
		results = append(results, short(result))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	expectResults(t, results, "1 "+bad.Key+" database_unavailable", "2 "+good.Key+" created")
	err = r.Import(t.Context(), d.scope, linesOf([]ImportLine{good}), nil)
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")

	r.network.Proxy("data2").Accept()
	expectResults(t, r.importAll(t, bad, good), "1 "+bad.Key+" created", "2 "+good.Key+" exists")
	r.die()
	d.expectState(t, stateOfLines(good, bad))
	d.checkInvariants(t, true)
}

func TestImport_PatienceWithADatabaseThatIsDown_IsSpentOnceUntilALineSucceeds(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{Deadline: 100 * time.Millisecond})
	r := &importRun{s: d.Service, scope: d.scope}
	down := domain.Unavailable("database_unavailable", "").After(time.Second)
	tries := func(outcome error) (n int) {
		_, err := r.persist(t.Context(), func(context.Context) (bool, error) {
			n++
			return false, outcome
		})
		if !errors.Is(err, outcome) {
			t.Errorf("it ends with %v, want %v", err, outcome)
		}
		return n
	}
	if n := tries(down); n < 2 {
		t.Errorf("the first line was tried %d times", n)
	}
	if n := tries(down); n != 1 {
		t.Errorf("the second was tried %d times, want once", n)
	}
	if n := tries(domain.Conflict("handle_taken", "")); n != 1 {
		t.Errorf("a line that can't succeed was tried %d times", n)
	}
	tries(nil)
	if n := tries(down); n < 2 {
		t.Errorf("behind a success a line was tried %d times", n)
	}
}

func TestImport_AnErrorThatIsNobodysBusiness_IsInTheLogAlone(t *testing.T) {
	t.Parallel()
	inside := errors.New("SQLSTATE 42P01")
	f := &flight{}
	f.fail(inside)
	e := f.result.Error
	if f.result.Result != ImportFailed || e == nil || e.Kind != domain.KindInternal || e.Code != "internal" || strings.Contains(e.Detail, "SQL") || !errors.Is(e, inside) {
		t.Errorf("the line's result is %+v", f.result)
	}
}

func TestImport_KilledAnywhere_IsResumed(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	lines := []ImportLine{accountLine("1", "ada", "ada@example.com"), accountLine("2", "ben", "ada@example.com"), accountLine("3", "cy", "cy@example.com")}
	covered := &crashAt{}
	if _, err := d.with(Options{Faults: covered}).tryImport(t.Context(), lines...); err != nil {
		t.Fatal(err)
	}
	if len(covered.reached) < 5 {
		t.Fatalf("it reaches only %v", covered.reached)
	}
	var resumed []*directory
	for point, times := range covered.reached {
		for nth := range times {
			d := d.with(Options{})
			d.scope = d.newTenant(t, "ascii")
			resumed = append(resumed, d)
			if _, err := d.with(Options{Faults: &crashAt{point: point, nth: nth + 1}}).tryImport(t.Context(), lines...); !errors.Is(err, errCrash) {
				t.Errorf("%s %d: the process did not die: %v", point, nth+1, err)
			}
		}
	}
	d.checkInvariants(t, false)
	d.expire(t)
	for _, d := range resumed {
		if results := d.importAll(t, lines...); results[1] != "2 2 email_taken /email" {
			t.Errorf("resumed: %v", results)
		}
	}
	d.sweepAll(t)
	d.checkInvariants(t, true)
	for _, d := range resumed {
		d.expectState(t, stateOfLines(lines[0], lines[2]))
	}
}
