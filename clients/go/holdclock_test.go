package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// untilLost works until its context ends, and checks what must be so by then: that
// it is lost, for that reason, before it ended at the service, and that nothing more
// is sent under it.
func untilLost(t *testing.T, w *world, reason error) func(context.Context, *holdfast.HeldLease) error {
	return func(ctx context.Context, lease *holdfast.HeldLease) error {
		<-ctx.Done()
		if !w.free() && !time.Now().Before(w.expiry()) {
			t.Errorf("the context ended %v behind the expiry", time.Since(w.expiry()))
		}
		cause, sent := context.Cause(ctx), w.times("journal")
		var lost *holdfast.LeaseLostError
		if !errors.As(cause, &lost) || !errors.Is(cause, reason) || lost.World != testWorld || lost.Epoch != 2 {
			t.Errorf("it ended with %v", cause)
		}
		if _, err := lease.Append(context.WithoutCancel(ctx), one); !errors.Is(err, cause) || w.times("journal") != sent {
			t.Errorf("%v; sent %d times more", err, w.times("journal")-sent)
		}
		return ctx.Err()
	}
}

func TestLease_IsRenewedAtAThirdOfItsTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Term: 9 * time.Second}, func(ctx context.Context, _ *holdfast.HeldLease) error {
			time.Sleep(59 * time.Second)
			return ctx.Err()
		})
		if err != nil || !w.free() {
			t.Fatal(err)
		}
		renewals := w.asked["renew"]
		if len(renewals) != 19 {
			t.Errorf("%d renewals in a minute", len(renewals))
		}
		for i := 1; i < len(renewals); i++ {
			if gap := renewals[i].Sub(renewals[i-1]); gap != 3*time.Second {
				t.Errorf("renewal %d came %v after the one before", i, gap)
			}
		}
	})
}

// However long answers take, this process never thinks its lease longer than it is.
func TestLease_ItsEndIsReckonedFromTheSending(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]mishap{
		"slow requests": {way: 3 * time.Second},
		"slow answers":  {back: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.goes = func(string, int) mishap { return slow }
				err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
					for range 1000 {
						time.Sleep(100 * time.Millisecond)
						if early := w.expiry().Sub(lease.Deadline()); early < 3*time.Second {
							t.Fatalf("its deadline is only %v before the expiry", early)
						}
					}
					return ctx.Err()
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestLease_AnswersThatTakeLongerThanTheTermGiveNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.goes = func(string, int) mishap { return mishap{back: 5 * time.Second} }
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Term: 5 * time.Second}, func(context.Context, *holdfast.HeldLease) error {
			t.Error("it worked")
			return nil
		})
		if !errors.Is(err, holdfast.ErrNotRenewed) || w.times("activate") != 0 {
			t.Errorf("%v; activated %d times", err, w.times("activate"))
		}
	})
}

func TestLease_WithoutRenewalsEndsByItsOwnClockBeforeItsTerm(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mishap{
		"partitioned":         {unsent: true},
		"no answers":          {way: time.Hour},
		"a broken balancer":   {refuse: "", status: 502, lost: true},
		"an internal error":   {refuse: "internal", status: 500},
		"a token refused":     {refuse: "token_invalid", status: 401},
		"asked to wait a day": {refuse: "rate_limited", status: 429, after: "86400"},
	} {
		for _, term := range []time.Duration{5 * time.Second, 30 * time.Second, time.Hour} {
			t.Run(name+" "+term.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					w.goes = func(op string, _ int) mishap {
						if op == "renew" || op == "handoff" {
							return m
						}
						return mishap{}
					}
					if m.lost { // renewed without this process's knowing is no reason to go on
						m.unsent, m.lost = true, false
					}
					began := time.Now()
					err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Term: term}, untilLost(t, w, holdfast.ErrNotRenewed))
					if want := term - min(term/10, 3*time.Second); !errors.Is(err, holdfast.ErrNotRenewed) || time.Since(began) != want {
						t.Errorf("%v after %v, want %v", err, time.Since(began), want)
					}
					if tries := w.times("renew"); tries < 4 || tries > 400 {
						t.Errorf("tried to renew %d times", tries)
					}
				})
			})
		}
	}
}

func TestLease_AnAppendUnderWayEndsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.goes = func(op string, _ int) mishap {
			return mishap{unsent: op != "acquire" && op != "read" && op != "activate"}
		}
		began := time.Now()
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, once)
		if !errors.Is(err, holdfast.ErrNotRenewed) || time.Since(began) != 27*time.Second || w.times("journal") < 2 {
			t.Errorf("%v after %v; tried %d times", err, time.Since(began), w.times("journal"))
		}
		if last := w.asked["journal"][w.times("journal")-1]; last.Sub(began) >= 27*time.Second {
			t.Errorf("sent %v after the beginning", last.Sub(began))
		}
	})
}

func TestLease_RenewalsThatFailForAWhileDoNoHarm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		began := time.Now()
		w.goes = func(op string, _ int) mishap {
			return mishap{unsent: op == "renew" && time.Since(began)%time.Minute > 45*time.Second}
		}
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, _ *holdfast.HeldLease) error {
			time.Sleep(time.Hour)
			return ctx.Err()
		})
		if err != nil || !w.free() {
			t.Errorf("%v; free %v", err, w.free())
		}
	})
}

func TestLease_TheNextRenewalFindsOutWhoFencedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		began := time.Now()
		time.AfterFunc(15*time.Second, w.revoke)
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, untilLost(t, w, holdfast.ErrFenced))
		var lost *holdfast.LeaseLostError
		if !errors.As(err, &lost) || lost.HolderEpoch != 3 || lost.Holder == nil || lost.Holder.Type != "coordinator" {
			t.Errorf("it tells %+v", err)
		}
		if took := time.Since(began); took != 20*time.Second || w.times("handoff") != 0 {
			t.Errorf("it took %v; %d handoffs", took, w.times("handoff"))
		}
	})
}

func TestLease_AFencedAppendEndsItAtOnce(t *testing.T) {
	t.Parallel()
	for code, reason := range map[string]error{"fenced": holdfast.ErrFenced, "lease_expired": holdfast.ErrLeaseExpired} {
		w := newWorld()
		w.goes = func(op string, _ int) mishap {
			if op == "journal" {
				return mishap{refuse: code, status: 409}
			}
			return mishap{}
		}
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{}, func(ctx context.Context, lease *holdfast.HeldLease) error {
			_, err := lease.Append(ctx, one)
			if !errors.Is(context.Cause(ctx), reason) || !errors.Is(err, reason) || !holdfast.IsCode(err, code) {
				t.Errorf("%v, and the context ended with %v", err, context.Cause(ctx))
			}
			return nil
		})
		if !errors.Is(err, reason) || w.times("handoff") != 0 {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestLease_IsKeptDuringALongReplayAndNoLongerThanItMayTake(t *testing.T) {
	t.Parallel()
	for replay, want := range map[time.Duration]error{4 * time.Minute: nil, 6 * time.Minute: holdfast.ErrNotRenewed} {
		t.Run(replay.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				options := holdfast.HoldOptions{ActivateWithin: 5 * time.Minute, Replay: func(ctx context.Context, _ []holdfast.JournalEntry) error {
					select {
					case <-time.After(replay):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
				began := time.Now()
				err := holdfast.Hold(t.Context(), w.client(t), testWorld, options, func(ctx context.Context, lease *holdfast.HeldLease) error {
					time.Sleep(time.Hour)
					return once(ctx, lease)
				})
				if !errors.Is(err, want) || want != nil && time.Since(began) != 5*time.Minute-3*time.Second {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}

func TestLease_ManyAppendsAtOnceAreAllWrittenBeforeTheHandoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.goes = func(op string, n int) mishap {
			return mishap{way: time.Duration(n) * 100 * time.Millisecond, lost: op == "journal" && n%2 == 1}
		}
		results := make(chan error, 8)
		err := holdfast.Hold(t.Context(), w.client(t), testWorld, holdfast.HoldOptions{Term: time.Minute}, func(ctx context.Context, lease *holdfast.HeldLease) error {
			for range cap(results) {
				go func() { results <- once(context.WithoutCancel(ctx), lease) }()
			}
			time.Sleep(time.Millisecond) // they are under way when the work is done
			return nil
		})
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if err != nil || w.ours() != cap(results) || !w.free() {
			t.Errorf("%v; %d entries, free %v", err, w.ours(), w.free())
		}
	})
}
