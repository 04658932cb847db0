package lease

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Acquire asks for a world's lease.
type Acquire struct {
	RequestID string        // of the caller's own: a retry of a lost answer gets the same lease
	Term      time.Duration // whole seconds; DefaultTerm if 0
	Replay    time.Duration // until the activation, whole seconds; DefaultReplay if 0
	Wait      time.Duration // in the waiting line, at most; 0 for not at all
	Takeover  bool          // from a lease of the caller's own principal, which then ends
}

// Grant is a lease as it was given.
type Grant struct {
	World           string
	Epoch           int64
	Secret          string // for Authority; told in this answer only
	HandoffPosition int64  // the entry that made the caller the writer
	Activated       bool   // already, by an earlier request with the same id
	ActivateBy      time.Time
	ExpiresAt       time.Time
	Term            time.Duration
	Remaining       time.Duration // when this was decided: count it from when the request was sent
}

func (a *Acquire) check() error {
	if a.Term == 0 {
		a.Term = DefaultTerm
	}
	if a.Replay == 0 {
		a.Replay = DefaultReplay
	}
	switch {
	case !printable(a.RequestID, maxRequestID):
		return domain.Invalid("request_id_invalid", "A request id has 1 to 64 printable ASCII characters without spaces.").At("/request_id")
	case a.Term < MinTerm || a.Term > MaxTerm || a.Term%time.Second != 0:
		return domain.Invalid("term_invalid", "A term has 5 to 3600 whole seconds.").At("/term_seconds")
	case a.Replay < MinTerm || a.Replay > MaxReplay || a.Replay%time.Second != 0:
		return domain.Invalid("activate_within_invalid", "An activation may take 5 to 600 whole seconds.").At("/activate_within_seconds")
	case a.Wait < 0 || a.Wait > MaxWait:
		return domain.Invalid("wait_invalid", "A request can wait for at most 60 seconds.").At("/wait_seconds")
	}
	return nil
}

// printable tells whether text has 1 to limit bytes of printable ASCII, no space.
func printable(text string, limit int) bool {
	if text == "" || len(text) > limit {
		return false
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

var errAwaited = domain.Conflict("lease_awaited",
	"Others stand in line for this lease. Acquire it with wait_seconds to stand behind them.").After(time.Second)

// Acquire hands the write lease of a world to the caller, if the coordinator holds
// it and nobody stands in line before. Otherwise the caller waits in line for as
// long as it said, and keeps its place for a few seconds more, for the same request
// to go on waiting. A repeated request id gets the lease that it got before, while
// that stands.
//
// Errors: invalid, not found, conflict lease_held, lease_awaited or line_full (retryable),
// unavailable, outcome unknown (the same request id finds out).
func (s *Service) Acquire(ctx context.Context, scope tenancy.Scope, world string, req Acquire) (Grant, error) {
	if err := req.check(); err != nil {
		return Grant{}, err
	}
	ref, err := refOf(world)
	if err != nil {
		return Grant{}, errNoWorld
	}
	caller := actorOf(scope)
	until := time.Now().Add(req.Wait)
	for {
		woken, stop := s.hub.watch(scope.Tenant, ref)
		tried := time.Now()
		waits := tried.Before(until)
		grant, err := s.tryAcquire(ctx, scope, caller, ref, req, waits)
		if err == nil || !waits || !awaitable(err) {
			stop()
			return grant, err
		}
		gone := !sleepUntil(ctx, earliest(tried.Add(waitsFor/3), until), woken) || !sleepUntil(ctx, tried.Add(tryEvery), nil)
		stop()
		if gone {
			s.giveUp(ctx, scope, caller, ref, req.RequestID)
			return Grant{}, ctx.Err()
		}
	}
}

// tryEvery is how soon a waiter tries again that is woken: each entry of the holder's
// wakes it, and few of them free the lease.
const tryEvery = 50 * time.Millisecond

// sleepUntil tells whether the time has come, or a wake, before ctx ends.
func sleepUntil(ctx context.Context, t time.Time, woken <-chan struct{}) bool {
	select {
	case <-woken:
	case <-time.After(time.Until(t)):
	case <-ctx.Done():
		return false
	}
	return true
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func awaitable(err error) bool {
	code := domain.CodeOf(err)
	return code == "lease_held" || code == "lease_awaited"
}

// giveUp takes a caller that has gone out of the line. If that fails it is skipped
// once its time is up.
func (s *Service) giveUp(ctx context.Context, scope tenancy.Scope, caller journal.Actor, ref worldRef, requestID string) {
	s.decide(ctx, scope.Tenant, &decision{world: ref, line: true, decide: func(w *locked) error {
		w.leaveLine(caller, requestID)
		return nil
	}})
}

func (s *Service) tryAcquire(ctx context.Context, scope tenancy.Scope, caller journal.Actor, ref worldRef, req Acquire, waits bool) (grant Grant, err error) {
	asked := waiter{caller: caller, requestID: req.RequestID, term: req.Term, replay: req.Replay}
	err = s.decide(ctx, scope.Tenant, &decision{world: ref, line: true, decide: func(w *locked) error {
		if refused := w.mayAcquire(&asked, req.Takeover); refused != nil {
			// Behind its wait a request keeps its place for as long as one that isn't
			// heard of: the next with the same id may already be on its way.
			if waits && !w.standInLine(asked) {
				return errLineFull
			}
			return refused
		}
		if w.Holder != caller || w.requestID != req.RequestID {
			s.handTo(scope.Tenant, w, &asked, caller)
		}
		w.leaveLine(caller, req.RequestID)
		grant, err = s.granted(scope.Tenant, w)
		return err
	}})
	return grant, err
}

// mayAcquire refuses who must wait.
func (w *locked) mayAcquire(asked *waiter, takeover bool) error {
	switch {
	case w.Holder == asked.caller && (w.requestID == asked.requestID || takeover):
		return nil
	case !w.Holder.IsCoordinator():
		return errHeld.After(max(w.ExpiresAt.Sub(w.now), time.Second)).With("epoch", w.Epoch).With("holder", w.Holder)
	}
	if first := w.first(); first != nil && !first.is(asked.caller, asked.requestID) {
		return errAwaited
	}
	return nil
}

// handTo makes somebody the writer, at the next epoch and with a secret of its own.
func (s *Service) handTo(tenant domain.TenantID, w *locked, to *waiter, by journal.Actor) {
	epoch := w.Epoch + 1
	activateBy := w.now.Add(to.replay)
	expiresAt := w.now.Add(to.term)
	if expiresAt.After(activateBy) {
		expiresAt = activateBy // a lease that isn't activated ends by then
	}
	w.note(journal.KindLeaseHandedOff, epoch, by, journal.HandedOff{
		From: w.Holder, To: to.caller, Epoch: epoch, TermSeconds: int64(to.term / time.Second),
		ExpiresAt: journal.Time(expiresAt), ActivateBy: journal.Time(activateBy),
	})
	w.requestID = to.requestID
	secret, keyID := s.secrets.Derive(w.secretParts(tenant)...)
	w.serverKeyID = keyID
	w.secretHash = hashSecret(secretText(secret))
}

// secretParts are what a lease's secret derives from, so that a retry of a lost
// answer gets the same one.
func (w *locked) secretParts(tenant domain.TenantID) []string {
	return []string{"lease", tenant.String(), w.ref.id, w.Holder.Issuer, w.Holder.Subject, w.requestID, strconv.FormatInt(w.Epoch, 10)}
}

func secretText(secret []byte) string { return base64.RawURLEncoding.EncodeToString(secret) }

// granted tells the holder its lease.
func (s *Service) granted(tenant domain.TenantID, w *locked) (Grant, error) {
	secret, ok := s.secrets.DeriveWith(w.serverKeyID, w.secretParts(tenant)...)
	if !ok {
		return Grant{}, fmt.Errorf("no server key %q, that a lease's secret derives from", w.serverKeyID)
	}
	return Grant{
		World: w.ref.id, Epoch: w.Epoch, Secret: secretText(secret), HandoffPosition: w.GrantedPosition,
		Activated: w.Activated, ActivateBy: w.ActivateBy, ExpiresAt: w.ExpiresAt,
		Term: time.Duration(w.TermSeconds) * time.Second, Remaining: w.ExpiresAt.Sub(w.now),
	}, nil
}
