package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var someItems = holdfast.BatchOptions{Owner: "worker-1", Items: []string{"a", "b", "c"}}

// half is what work makes of one of its items.
func half(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
	return map[string]holdfast.RecordChange{"a": small}, nil
}

func TestWorkBatch_ClaimsKeepsAndCompletes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		done, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
			if held := batch.Held(); !slices.Equal(batch.Items(), []string{"a", "b"}) || len(held) != 1 || held[0].Key != "c" {
				t.Errorf("it has %v, others have %v", batch.Items(), held)
			}
			time.Sleep(10 * time.Minute)
			if ctx.Err() != nil || batch.Err() != nil {
				t.Errorf("the claims are lost: %v, %v", context.Cause(ctx), batch.Err())
			}
			return half(ctx, batch)
		})
		if err != nil || len(done.Items) != 1 || done.Items[0].Outcome != holdfast.OutcomePublished || s.times("complete") != 1 {
			t.Errorf("%+v, %v", done, err)
		}
		if s.beats < 20 || s.beats > 40 {
			t.Errorf("%d heartbeats in ten minutes", s.beats)
		}
	})
}

func TestWorkBatch_ALostAnswerIsAskedForAgainUnderTheSameIDs(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"batches", "heartbeat", "complete"} {
		synctest.Test(t, func(t *testing.T) {
			s := newShelf()
			s.goes = func(op string, n int) trouble {
				return trouble{mishap: mishap{lost: op == word && n < 6, back: time.Millisecond}}
			}
			done, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
				time.Sleep(2 * time.Minute)
				return half(ctx, batch)
			})
			if err != nil || len(done.Items) != 1 || s.times(word) < 6 {
				t.Errorf("%s: %+v, %v after %d tries", word, done, err, s.times(word))
			}
			var sent []string
			for i, r := range s.seen {
				if op(r) == word {
					sent = append(sent, s.sent[i])
				}
			}
			if slices.ContainsFunc(sent, func(text string) bool { return text != sent[0] }) {
				t.Errorf("%s: what was sent differs", word)
			}
		})
	}
}

// Its context ends before the service could give the items to anybody else.
func TestWorkBatch_ItsContextEndsWhenNoHeartbeatComesThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.goes = func(op string, _ int) trouble { return trouble{mishap: mishap{unsent: op == "heartbeat"}} }
		_, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
			<-ctx.Done()
			if early := time.Until(s.expires); early < 2*time.Second || early > 10*time.Second {
				t.Errorf("it ended %v before the claims", early)
			}
			return nil, ctx.Err()
		})
		var lost *holdfast.BatchLostError
		if !errors.As(err, &lost) || !errors.Is(err, holdfast.ErrClaimsNotKept) || !errors.Is(err, errNetwork) || !errors.Is(err, context.Canceled) || len(lost.Items) != 2 || s.times("complete") != 0 {
			t.Errorf("%v", err)
		}
	})
}

func TestWorkBatch_ItsContextEndsWhenTheServiceSaysThatClaimsAreOver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *shelf){
		"lost":      func(s *shelf) { s.stolen = true },
		"completed": func(s *shelf) { s.goes = refusing("batch_completed") },
		"fenced":    func(s *shelf) { s.goes = refusing("fenced") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf()
				began := time.Now()
				_, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
					s.mu.Lock()
					end(s)
					s.mu.Unlock()
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), holdfast.ErrClaimsExpired) || !errors.Is(batch.Err(), holdfast.ErrClaimsExpired) {
						t.Errorf("it ended with %v, %v", context.Cause(ctx), batch.Err())
					}
					return nil, context.Cause(ctx)
				})
				if took := time.Since(began); !errors.Is(err, holdfast.ErrClaimsExpired) || took > 30*time.Second {
					t.Errorf("%v in %v", err, took)
				}
			})
		})
	}
}

func refusing(code string) func(string, int) trouble {
	return func(op string, _ int) trouble {
		if op != "heartbeat" {
			return trouble{}
		}
		return trouble{mishap: mishap{refuse: code, status: 409}}
	}
}

// The service is the judge of what is done all the same.
func TestWorkBatch_WhatIsDoneTooLateIsJudgedByTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		s.goes = func(op string, _ int) trouble { return trouble{mishap: mishap{unsent: op == "heartbeat"}} }
		done, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
			time.Sleep(2 * time.Minute)
			return half(ctx, batch)
		})
		if err != nil || done.Items[0].Outcome != holdfast.OutcomeLeaseExpired {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

func TestWorkBatch_AnIDOfTheCallersKeepsWhatItHasFirst(t *testing.T) {
	t.Parallel()
	s := newShelf()
	options := someItems
	options.BatchID, options.Term, options.Lease = "nightly", 90*time.Second, "3.secret"
	if _, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", options, half); err != nil {
		t.Fatal(err)
	}
	var asked []string
	for i, r := range s.seen {
		asked = append(asked, op(r))
		if r.Header.Get("Holdfast-Lease") != "3.secret" || !strings.Contains(s.sent[i]+r.URL.Path, "nightly") {
			t.Errorf("%s is sent %s", r.URL.Path, s.sent[i])
		}
	}
	if !slices.Equal(asked, []string{"batches", "heartbeat", "complete"}) || s.term != 90*time.Second {
		t.Errorf("it asked for %v, a term of %v", asked, s.term)
	}
	s.stolen = true
	if _, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", options, half); !errors.Is(err, holdfast.ErrClaimsExpired) || s.times("complete") != 1 {
		t.Errorf("claims that are over: %v", err)
	}
}

func TestWorkBatch_LargeBodiesGoBeforeUnderTheClaim(t *testing.T) {
	t.Parallel()
	s := newShelf()
	_, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(ctx context.Context, batch *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		if _, err := batch.Publish(ctx, "c", large()); err == nil {
			t.Error("it published an item that it doesn't have")
		}
		_, err := batch.Publish(ctx, "a", large())
		return nil, err
	})
	if err != nil || s.times("complete") != 0 {
		t.Fatal(err)
	}
	for i, r := range s.seen {
		if op(r) == "put" {
			p, _ := publicationIn(r, []byte(s.sent[i]))
			if p.Batch == nil || p.Batch.Generation != 1 {
				t.Errorf("it was published with %+v", p.Batch)
			}
		}
	}
}

func TestWorkBatch_EndsHoweverTheWorkEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("out of ideas")
	s := newShelf()
	_, err := holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		return nil, failed
	})
	if !errors.Is(err, failed) || s.times("complete") != 0 {
		t.Errorf("%v", err)
	}
	_, err = holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		return map[string]holdfast.RecordChange{"c": small}, nil
	})
	if err == nil || s.times("complete") != 0 {
		t.Errorf("it completed what it doesn't have: %v", err)
	}
	defer func() {
		if told := recover(); told != "boom" {
			t.Errorf("recovered %v", told)
		}
	}()
	holdfast.WorkBatch(t.Context(), s.client(t), "orders", someItems, func(context.Context, *holdfast.HeldBatch) (map[string]holdfast.RecordChange, error) {
		panic("boom")
	})
}
