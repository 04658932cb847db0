package identity

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Two accounts that want each other's address are told that it is taken, for as
// long as it is in force; by way of a third address they get there.
func TestTwoAccountsThatSwapAddresses_EndAtOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b := d.create(t, "ada", "a@example.com"), d.create(t, "bob", "b@example.com")
	for range 10 {
		errs := atOnce(2, func(i int) error {
			_, err := d.tryChangeEmail(context.Background(), []domain.AccountID{a.ID, b.ID}[i], []string{"b@example.com", "a@example.com"}[i])
			return err
		})
		for _, err := range errs {
			expectCode(t, err, domain.KindConflict, "email_taken")
		}
	}
	d.changeEmail(t, a.ID, "aside@example.com")
	d.changeEmail(t, b.ID, "a@example.com")
	d.changeEmail(t, a.ID, "b@example.com")
	d.expectLookups(t, map[string]domain.AccountID{"a@example.com": b.ID, "b@example.com": a.ID, "aside@example.com": {}})
	d.checkInvariants(t, true)
}

// Each of two stuck changes holds the claim that the other's account wants next.
// When both are overdue, each account finishes its own and the other's.
func TestTwoStuckChanges_ThatHoldWhatTheOtherWants_AreBothFinished(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b := d.create(t, "ada", "a@example.com"), d.create(t, "bob", "b@example.com")
	d.dieConfirming(t, "change claimed", a.ID, d.mustBegin(t, a.ID, "x@example.com"))
	d.dieConfirming(t, "change claimed", b.ID, d.mustBegin(t, b.ID, "y@example.com"))
	d.expire(t)
	next := []EmailChange{d.mustBegin(t, a.ID, "y@example.com"), d.mustBegin(t, b.ID, "x@example.com")}
	errs := atOnce(2, func(i int) error {
		id := []domain.AccountID{a.ID, b.ID}[i]
		_, err := d.ConfirmEmailChange(context.Background(), d.scope, id, next[i].ID, next[i].Code)
		return err
	})
	for i, err := range errs {
		// Either may have met the other's in the midst of it.
		if err != nil && domain.KindOf(err) != domain.KindConflict {
			t.Errorf("change %d: %v", i, err)
		}
		if err != nil {
			if err := d.confirm(t, []domain.AccountID{a.ID, b.ID}[i], next[i], next[i].Code); err != nil {
				t.Errorf("change %d, again: %v", i, err)
			}
		}
	}
	d.expectLookups(t, map[string]domain.AccountID{"x@example.com": b.ID, "y@example.com": a.ID, "a@example.com": {}, "b@example.com": {}})
	d.checkInvariants(t, true)
}

// Three accounts move up into each other's addresses, and each dies before it has
// released its own.
func TestAChainOfThreeStuckChanges_IsFinishedLinkByLink(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a, b, c := d.create(t, "ada", "a@example.com"), d.create(t, "bob", "b@example.com"), d.create(t, "cyd", "c@example.com")
	d.dieConfirming(t, "change committed", a.ID, d.mustBegin(t, a.ID, "top@example.com"))
	d.dieConfirming(t, "change committed", b.ID, d.mustBegin(t, b.ID, "a@example.com"))
	d.dieConfirming(t, "change committed", c.ID, d.mustBegin(t, c.ID, "b@example.com"))
	d.create(t, "dan", "c@example.com")
	d.expectLookups(t, map[string]domain.AccountID{"top@example.com": a.ID, "a@example.com": b.ID, "b@example.com": c.ID})
	d.checkInvariants(t, true)
}

// dieAtRandom stops its process at any point.
type dieAtRandom struct {
	mu     sync.Mutex
	random *rand.Rand
}

func (f *dieAtRandom) Reach(context.Context, string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.random.IntN(15) == 0 {
		return errCrash
	}
	return nil
}

// confirmed is a success that a caller was told of.
type confirmed struct {
	account  domain.AccountID
	revision int64
}

// A few accounts change between a few addresses, all at once, in processes that
// die anywhere and with a deadline that they often miss. Whatever was acknowledged
// is there, nobody is told of a fault, and no address is lost.
func TestAStormOfEmailChanges_EveryAnswerIsTrueAndNoAddressIsLost(t *testing.T) {
	t.Parallel()
	emailStorm(t, newDirectory(t, Options{}))
}

func emailStorm(t *testing.T, d *directory) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var accounts []domain.AccountID
	var addresses []string
	for i := range 5 {
		accounts = append(accounts, d.create(t, numbered("p-%d", i), "").ID)
		addresses = append(addresses, numbered("address-%d@example.com", i))
	}
	var mu sync.Mutex
	var told []confirmed
	var all sync.WaitGroup
	for i := range uint64(6) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, i))
			process := d.with(Options{Deadline: 30 * time.Millisecond, Faults: &dieAtRandom{random: rand.New(rand.NewPCG(seed, 100+i))}})
			for range 40 {
				done, err := process.stormStep(random, accounts[random.IntN(len(accounts))], addresses[random.IntN(len(addresses))])
				if err != nil && !stormAnswers(err) {
					t.Errorf("a caller was told %v", err)
				}
				if done != (confirmed{}) {
					mu.Lock()
					told = append(told, done)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	d.checkInvariants(t, false)
	d.expectNoOrphanResolves(t)
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
	d.expectConfirmed(t, told)
	for i, email := range addresses {
		if _, err := d.LookupEmail(t.Context(), d.scope, email); err != nil {
			d.create(t, numbered("heir-%d", i), email)
		}
	}
	d.checkInvariants(t, true)
}

// stormStep changes an account somehow. It returns the email change that it was
// told to have made, if any.
func (d *directory) stormStep(random *rand.Rand, account domain.AccountID, email string) (done confirmed, err error) {
	ctx := context.Background()
	switch random.IntN(8) {
	case 0:
		_, err = d.RemoveEmail(ctx, d.scope, account, nil)
	case 1:
		_, err = d.LookupEmail(ctx, d.scope, email)
	case 2:
		var a Account
		if a, err = d.Get(ctx, d.scope, account); err == nil {
			_, err = d.rename(ctx, a, email)
		}
	default:
		var a Account
		if a, err = d.tryChangeEmail(ctx, account, email); err == nil {
			done = confirmed{account, a.Revision}
		}
	}
	return done, err
}

// stormAnswers tells what a caller in the storm may be told.
func stormAnswers(err error) bool {
	codes := []string{"email_taken", "claim_pending", "change_pending", "change_stale", "email_change_not_found",
		"operation_expired", "account_not_found", "revision_stale"}
	return errors.Is(err, errCrash) || slices.Contains(codes, domain.CodeOf(err))
}

// expectConfirmed holds what callers were told to the events.
func (d *directory) expectConfirmed(t *testing.T, told []confirmed) {
	t.Helper()
	kinds := map[confirmed]EventKind{}
	for _, e := range d.eventRows(t) {
		kinds[confirmed{domain.AccountID(e.Record), e.Revision}] = e.Kind
	}
	seen := map[confirmed]bool{}
	for _, c := range told {
		if kinds[c] != AccountEmailChanged {
			t.Errorf("revision %d of %s was acknowledged as an email change, and is %q", c.revision, c.account, kinds[c])
		}
		if seen[c] {
			t.Errorf("revision %d of %s was acknowledged twice", c.revision, c.account)
		}
		seen[c] = true
	}
	if len(told) < 10 {
		t.Errorf("only %d changes went through", len(told))
	}
}
