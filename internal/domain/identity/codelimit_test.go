package identity

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// wrong guesses once, in vain.
func (d *directory) wrong(t testing.TB, account Account) error {
	t.Helper()
	_, err := d.LookupCode(t.Context(), d.scope, CodeGuess{"BBBB-BBBB", account.ID})
	return err
}

// expectLimited says that a guess was refused, and for at most how long.
func expectLimited(t testing.TB, err error, atMost time.Duration) {
	t.Helper()
	expectCode(t, err, domain.KindLimited, "user_code_guesses_exceeded")
	if e := new(domain.Error); errors.As(err, &e) && (e.RetryAfter <= 0 || e.RetryAfter > atMost) {
		t.Errorf("Retry-After is %v, want at most %v", e.RetryAfter, atMost)
	}
}

func TestWrongCodes_LimitTheirAccountAndNobodyElse(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob := d.create(t, "ada", ""), d.create(t, "bob", "")
	device := d.authorize(t, d.client(), "tv")
	for range accountGuesses {
		expectCode(t, d.wrong(t, ada), domain.KindNotFound, "user_code_not_found")
		d.passTime(t, 30*time.Second)
	}
	for _, guess := range []CodeGuess{{"BBBB-BBBB", ada.ID}, d.guessOf(device, ada)} {
		for name, call := range d.codeCalls() { // right or wrong: nobody looks
			_, err := call(t.Context(), d.scope, guess)
			if expectLimited(t, err, guessWindow-5*time.Minute); t.Failed() {
				t.Errorf("%s", name)
			}
		}
	}
	if n, m := d.charged(t, ada.ID); n != accountGuesses || m != accountGuesses {
		t.Errorf("%d and %d guesses are charged: a limited account's are to cost nobody", n, m)
	}
	d.approve(t, device, bob)

	d.passTime(t, 5*time.Minute) // the first one leaves the window
	expectCode(t, d.wrong(t, ada), domain.KindNotFound, "user_code_not_found")
	expectLimited(t, d.wrong(t, ada), 30*time.Second)
	d.passTime(t, guessWindow)
	for range accountGuesses {
		expectCode(t, d.wrong(t, ada), domain.KindNotFound, "user_code_not_found")
	}
	expectLimited(t, d.wrong(t, ada), guessWindow)
}

func TestRightCodes_AreNotCharged(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.authorize(t, d.client(), "tv")
	for range 3 * accountGuesses {
		if _, err := d.LookupCode(t.Context(), d.scope, d.guessOf(device, ada)); err != nil {
			t.Fatal(err)
		}
	}
	// Between wrong ones, each takes back its own charge.
	for i := range accountGuesses {
		expectCode(t, d.wrong(t, ada), domain.KindNotFound, "user_code_not_found")
		if i < accountGuesses-1 {
			d.approve(t, device, ada)
		}
	}
	if n, m := d.charged(t, ada.ID); n != accountGuesses || m != accountGuesses {
		t.Errorf("%d and %d guesses are charged, want the wrong ones", n, m)
	}
}

func TestGuessesAtOnce_StayWithinTheLimit(t *testing.T) {
	t.Parallel()
	guessRace(t, newDirectory(t, Options{}))
}

func guessRace(t *testing.T, d *directory) {
	ada := d.create(t, "ada", "")
	looked := 0
	for _, err := range atOnce(40, func(int) error { return d.wrong(t, ada) }) {
		if domain.KindOf(err) == domain.KindNotFound {
			looked++
		} else {
			expectLimited(t, err, guessWindow)
		}
	}
	if n, m := d.charged(t, ada.ID); looked != accountGuesses || n != accountGuesses || m != accountGuesses {
		t.Errorf("%d guesses were looked at, %d and %d are charged, want %d", looked, n, m, accountGuesses)
	}
}

// fillShares charges a tenant's shares to the brim, but for so many in each.
func (d *directory) fillShares(t testing.TB, but int) {
	t.Helper()
	for _, db := range d.router.Databases() {
		_, err := d.admin[db.Name].Exec(t.Context(), `
INSERT INTO code_guesses (tenant_id, number, subject, guessed_at, kept_until)
SELECT $1, n, $2, (SELECT array_agg(clock_timestamp() - i * interval '1 second' ORDER BY i DESC) FROM generate_series(1, $4::integer) i), now()
  FROM unnest($3::smallint[]) n
    ON CONFLICT (tenant_id, number, subject) DO UPDATE SET guessed_at = excluded.guessed_at`,
			d.scope.Tenant, domain.RecordID{}, numbersOf(db), guessShare-but)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTenantsGuesses_AreLimitedToo(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	device := d.authorize(t, d.client(), "tv")
	d.fillShares(t, 1)
	expectCode(t, d.wrong(t, ada), domain.KindNotFound, "user_code_not_found") // whichever share it draws
	if _, m := d.charged(t, ada.ID); m != (guessShare-1)*domain.Numbers+1 {
		t.Errorf("%d guesses are charged to the tenant", m)
	}
	d.fillShares(t, 0)
	expectLimited(t, d.wrong(t, ada), guessWindow)
	traced, recorder := d.traced(t)
	if tried := recorder.during(func() { traced.chargeTenant(t.Context(), d.scope.Tenant) }); len(tried) != 2 {
		t.Errorf("%d shares were tried, want another one behind the first that is full", len(tried))
	}
	_, err := d.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada))
	expectLimited(t, err, guessWindow)
	if n, m := d.charged(t, ada.ID); n != 1 || m != guessShare*domain.Numbers {
		t.Errorf("%d and %d guesses are charged: one that nobody looked at costs nothing", n, m)
	}
	// Another tenant is another matter.
	own := d.with(Options{})
	own.scope = d.newTenant(t, "ascii")
	expectCode(t, own.wrong(t, own.create(t, "ada", "")), domain.KindNotFound, "user_code_not_found")

	d.passTime(t, guessWindow)
	d.approve(t, device, ada)
}

func TestChargesOfOneShareAtOnce_StayWithinIt(t *testing.T) {
	t.Parallel()
	shareRace(t, newDirectory(t, Options{}))
}

func shareRace(t *testing.T, d *directory) {
	charged := 0
	for _, err := range atOnce(3*guessShare, func(int) error {
		_, err := d.chargeShare(t.Context(), d.scope.Tenant, 7)
		return err
	}) {
		if err == nil {
			charged++
		} else {
			expectLimited(t, err, guessWindow)
		}
	}
	if _, n := d.charged(t, domain.AccountID{1}); charged != guessShare || n != guessShare {
		t.Errorf("%d guesses passed, and %d are charged; want %d", charged, n, guessShare)
	}
}

// The first charge of a share, which has no row to lock, holds off the next.
func TestASharesFirstCharge_IsNotLostInAnother(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	const share = 7
	r := d.remote(t, Options{})
	trap := r.network.HoldBefore(t, testkit.Statement("INSERT INTO code_guesses (tenant_id"))
	charging := func(by *directory, done chan error) {
		_, err := by.chargeShare(t.Context(), d.scope.Tenant, share)
		done <- err
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go charging(r.directory, first)
	<-trap.Met()
	go charging(d, second)
	d.awaitLock(t, d.router.Database(share), second)
	trap.Release()
	for _, done := range []chan error{first, second} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, n := d.charged(t, domain.AccountID{1}); n != 2 {
		t.Errorf("%d guesses are charged, want 2", n)
	}
}

// A refund that comes beside a charge is not lost in it.
func TestARefundBesideACharge_WaitsForIt(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	record := accountRef(ada.ID)
	first, err := d.chargeAccount(t.Context(), d.scope.Tenant, ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	refunded := make(chan error, 1)
	second := chargeOf(record)
	err = d.changeAccount(t.Context(), d.scope.Tenant, record, needs{guesses: true}, func(a *lockedAccount) error {
		go func() { refunded <- d.refund(t.Context(), d.scope.Tenant, first) }()
		d.awaitLock(t, d.router.Database(record.Number), refunded)
		return second.queue(a.Tx, a.guesses, a.now, accountGuesses)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-refunded; err != nil {
		t.Fatal(err)
	}
	for _, g := range d.guessRows(t) {
		if len(g.at) != 1 || !g.at[0].Equal(second.at) {
			t.Errorf("charged at %v, want the second charge alone, of %v", g.at, second.at)
		}
	}
}

// 120 accounts of one tenant guess twice each, at once, after 832 wrong guesses of
// others: fewer than 1,000 of all are looked at.
func TestAThousandWrongCodes_AreLimited(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	accounts := make([]Account, 120)
	for _, err := range atOnce(len(accounts), func(i int) (err error) {
		created, err := d.tryCreate(t.Context(), numbered("guesser-%d", i), "")
		accounts[i] = created.Account
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	d.fillShares(t, 2)
	looked, limited := 0, 0
	for _, err := range atOnce(len(accounts), func(i int) error {
		_, err := d.LookupCode(t.Context(), d.scope, CodeGuess{"BBBB-BBBB", accounts[i].ID})
		_, second := d.LookupCode(t.Context(), d.scope, CodeGuess{"BBBB-BBBB", accounts[i].ID})
		return errors.Join(err, second)
	}) {
		for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
			if domain.KindOf(e) == domain.KindNotFound {
				looked++
			} else {
				expectLimited(t, e, guessWindow)
				limited++
			}
		}
	}
	if most := 2 * domain.Numbers; looked > most || looked < most/2 || limited == 0 {
		t.Errorf("%d were looked at and %d limited, of 240; want at most %d looked at", looked, limited, most)
	}
}

func TestAGuessThatCrashed_StaysCharged(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	device := d.authorize(t, d.client(), "tv")
	charges := map[string][2]int{"guess charged": {1, 0}, "guess judged": {1, 1}, "guess refunded": {1, 0}, "device linked": {0, 0}}
	i := 0
	for point, want := range charges {
		d.everywhere(t, `DELETE FROM code_guesses`)
		ada := d.create(t, numbered("ada-%d", i), "")
		i++
		dying := d.with(Options{Faults: &crashAt{point: point, nth: 1}})
		if _, err := dying.ApproveDevice(t.Context(), d.scope, d.guessOf(device, ada)); !stopped(err) {
			t.Fatalf("at %q: %v", point, err)
		}
		if n, m := d.charged(t, ada.ID); n != want[0] || m != want[1] {
			t.Errorf("at %q: %d and %d guesses are charged, want %v", point, n, m, want)
		}
	}
}

// A guess that nobody could look at, because a database is away, costs nothing.
func TestAGuessThatCouldNotBeLookedAt_IsRefunded(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	elsewhere := d.authorize(t, d.client(), "tv")
	for linkTo(domain.FamilyDeviceCode, elsewhere.UserCode.Key(), domain.Token{}).Number == accountRef(ada.ID).Number {
		elsewhere = d.authorize(t, d.client(), "tv")
	}
	key := linkTo(domain.FamilyDeviceCode, elsewhere.UserCode.Key(), domain.Token{})
	d.everywhere(t, `UPDATE number_gates SET state = 'closed' WHERE number = $1`, int16(key.Number))
	for range 2 * accountGuesses {
		_, err := d.LookupCode(t.Context(), d.scope, d.guessOf(elsewhere, ada))
		expectCode(t, err, domain.KindUnavailable, "partition_unavailable")
	}
	d.everywhere(t, `UPDATE number_gates SET state = 'open' WHERE number = $1`, int16(key.Number))
	d.expectNothingCharged(t)
}
