package identity

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Limits of wrong user codes (RFC 8628, section 5.1). A tenant's are spread over
// the numbers, a share each, so that its guesses don't wait for one row. With a
// thousand codes in use at any time, whoever guesses as fast as that allows, day
// and night, meets one of them in half a year.
const (
	guessWindow    = 10 * time.Minute
	accountGuesses = 10                             // in any window, of one account
	tenantGuesses  = 1000                           // in any window, of all of a tenant's accounts
	guessShare     = tenantGuesses / domain.Numbers // of these, in one number
)

// sharesTried is how many shares of the tenant's a guess may draw: that one is
// full says little of the others.
const sharesTried = 2

var errTooManyGuesses = domain.Limited("user_code_guesses_exceeded",
	"Too many wrong user codes. Try again after the time in Retry-After.")

// charge is one guess, charged before anybody looked at its code: so that any
// number of guesses at once stay within the limits, and a crash leaves a charge
// and never a free guess. It is refunded if the code was right.
type charge struct {
	number  domain.Number
	subject domain.RecordID // whose: an account, or the zero one for the tenant's share
	at      time.Time       // no two charges of a subject are of one time
}

// guesses are the charges of one subject, oldest first.
type guesses []time.Time

// within drops what has left the window.
func (g guesses) within(now time.Time) guesses {
	for len(g) > 0 && !g[0].After(now.Add(-guessWindow)) {
		g = g[1:]
	}
	return g
}

// add charges a guess, or says how long it takes until the oldest one leaves the
// window.
func (g guesses) add(now time.Time, limit int) (guesses, time.Time, error) {
	if n := len(g); n > 0 && !now.After(g[n-1]) {
		now = g[n-1].Add(time.Microsecond)
	}
	g = g.within(now)
	if len(g) >= limit {
		return nil, now, errTooManyGuesses.After(g[0].Add(guessWindow).Sub(now))
	}
	return append(g, now), now, nil
}

const sqlLockGuesses = `
SELECT guessed_at FROM code_guesses
 WHERE tenant_id = $1 AND number = $2 AND subject = $3
   FOR UPDATE`

// queueLockGuesses locks and reads a subject's guesses, if it has made any. Of an
// account they are locked behind the account, so that no first charges cross.
func (c charge) queueLockGuesses(tx *tenancy.Tx, into *guesses) {
	tx.Queue(sqlLockGuesses, int16(c.number), c.subject).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{into}, func() error { return nil })
		return err
	})
}

// sqlBeginShare makes a share's row, so that there is one to lock; one that is
// there is held from here on, so that no cleanup takes it away in between.
const sqlBeginShare = `
INSERT INTO code_guesses AS g (tenant_id, number, subject, guessed_at, kept_until)
VALUES ($1, $2, $3, '{}', clock_timestamp())
ON CONFLICT (tenant_id, number, subject) DO UPDATE SET kept_until = g.kept_until`

// A cleanup that took the row away would not take the charge with it.
const sqlWriteGuesses = `
INSERT INTO code_guesses (tenant_id, number, subject, guessed_at, kept_until)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, number, subject) DO UPDATE SET guessed_at = excluded.guessed_at, kept_until = excluded.kept_until`

func (c *charge) queue(tx *tenancy.Tx, standing guesses, now time.Time, limit int) error {
	charged, at, err := standing.add(now, limit)
	if err != nil {
		return err
	}
	c.at = at
	tx.Queue(sqlWriteGuesses, int16(c.number), c.subject, charged, at.Add(guessWindow))
	return nil
}

// chargeOf is a charge to an account, before it is made.
func chargeOf(account ref) charge { return charge{number: account.Number, subject: account.ID} }

// chargeAccount charges a guess to an account, which must be there and active.
func (s *Service) chargeAccount(ctx context.Context, tenant domain.TenantID, account domain.AccountID) (charge, error) {
	record := accountRef(account)
	c := chargeOf(record)
	err := s.changeAccount(ctx, tenant, record, needs{guesses: true}, func(a *lockedAccount) error {
		switch {
		case !a.account.visible():
			return errNoAccount
		case a.account.Status != Active:
			return errAccountDisabled
		}
		return c.queue(a.Tx, a.guesses, a.now, accountGuesses)
	})
	return c, err
}

// chargeTenant charges a guess to a share of the tenant's.
func (s *Service) chargeTenant(ctx context.Context, tenant domain.TenantID) (c charge, err error) {
	for range sharesTried {
		c, err = s.chargeShare(ctx, tenant, domain.Number(rand.IntN(domain.Numbers)))
		if domain.KindOf(err) != domain.KindLimited {
			break
		}
	}
	return c, err
}

func (s *Service) chargeShare(ctx context.Context, tenant domain.TenantID, number domain.Number) (charge, error) {
	c := charge{number: number}
	err := tenancy.Run(ctx, s.router.Database(number), s.entry(tenant, []int16{int16(number)}), func(ctx context.Context, tx *tenancy.Tx) error {
		var standing guesses
		var now time.Time
		tx.Queue(sqlBeginShare, int16(number), c.subject)
		c.queueLockGuesses(tx, &standing)
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		return c.queue(tx, standing, now, guessShare)
	})
	return c, err
}

const sqlRefundGuess = `
UPDATE code_guesses SET guessed_at = array_remove(guessed_at, $4::timestamptz)
 WHERE tenant_id = $1 AND number = $2 AND subject = $3`

func (c charge) queueRefund(tx *tenancy.Tx) {
	tx.Queue(sqlRefundGuess, int16(c.number), c.subject, c.at)
}

// refund takes charges back, each in its own number. One that can't be taken back
// stays until it leaves the window, and its guess is answered all the same.
func (s *Service) refund(ctx context.Context, tenant domain.TenantID, charges ...charge) error {
	ctx = context.WithoutCancel(ctx)
	for _, c := range charges {
		err := tenancy.Run(ctx, s.router.Database(c.number), s.entry(tenant, []int16{int16(c.number)}), func(_ context.Context, tx *tenancy.Tx) error {
			c.queueRefund(tx)
			return nil
		})
		if err != nil {
			s.metrics.guessed(ctx, "not_refunded")
		}
		if err := s.reach(ctx, "guess refunded"); err != nil {
			return err
		}
	}
	return nil
}
