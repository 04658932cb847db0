package record

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// cutOff is a context that runs into its deadline when the test says so.
type cutOff struct {
	context.Context
	over chan struct{}
	end  func()
}

func newCutOff(t *testing.T) *cutOff {
	over := make(chan struct{})
	return &cutOff{t.Context(), over, sync.OnceFunc(func() { close(over) })}
}

func (c *cutOff) Done() <-chan struct{} { return c.over }

func (c *cutOff) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// hanging is a store that doesn't answer who stores, and takes until the deadline.
type hanging struct {
	Store
	until *cutOff
}

func (h *hanging) Ensure(ctx context.Context, _ string, _ []byte, _ [32]byte, _ bool) (bool, error) {
	h.until.end()
	<-ctx.Done()
	return false, ctx.Err()
}

// What runs into its deadline says just that: for one of many, too, and whether the
// store hangs or a decision would be made anew.
func TestPublish_EndsWithItsCallersDeadline(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	ctx := newCutOff(t)
	k.store = &hanging{k.store, ctx}
	asked := items("a", "body")
	asked.OperationID = k.operation()
	made, err := k.PublishEach(ctx, k.scope, c, nil, []Publication{asked})
	if err != nil || !errors.Is(made[0].Err, context.DeadlineExceeded) {
		t.Fatalf("made is %+v, %v", made, err)
	}
	k.expectUnchanged(t, c, func() {
		d := asked.decision(k.scope, ref{numberOf(c), c}, nil)
		d.decide = func(*locked) error {
			t.Error("a decision is made behind the deadline")
			return nil
		}
		if err := k.decide(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("decide: %v", err)
		}
		if _, err := k.rehearse(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("rehearse: %v", err)
		}
	})
}
