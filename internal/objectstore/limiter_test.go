package objectstore

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// Whatever comes in whatever order: no more are let through than the limit
// allows, nobody waits while there is room, and who waits longest goes first.
func TestLimiter_LetsThroughWhatItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(timeless{t}, func(t *rapid.T) {
			ceiling := rapid.IntRange(1, 8).Draw(t, "ceiling")
			c := crowd{limiter: newLimiter(ceiling), ceiling: ceiling}
			t.Repeat(map[string]func(*rapid.T){"come": c.come, "release": c.release, "leave": c.leave, "": c.check})
			for len(c.inside) > 0 {
				c.inside[0].release(fine)
				c.inside = c.inside[1:]
				c.check(t)
			}
			if len(c.waiting) > 0 {
				t.Fatalf("in the end %d wait", len(c.waiting))
			}
		})
	})
}

// timeless hides the test's deadline, for which nobody may ask where time is fake.
type timeless struct{ testing.TB }

// crowd are those who want to be let through.
type crowd struct {
	limiter *limiter
	ceiling int
	inside  []permit
	waiting []*waiter // the first in line first
}

type waiter struct {
	leave context.CancelFunc
	got   chan permit
	ended chan error
}

// come puts somebody in line.
func (c *crowd) come(*rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiter{leave: cancel, got: make(chan permit, 1), ended: make(chan error, 1)}
	go func() {
		p, err := c.limiter.acquire(ctx)
		if err != nil {
			w.ended <- err
			return
		}
		w.got <- p
	}()
	c.waiting = append(c.waiting, w)
}

func (c *crowd) release(t *rapid.T) {
	if len(c.inside) == 0 {
		t.Skip("nobody is inside")
	}
	i := rapid.IntRange(0, len(c.inside)-1).Draw(t, "which")
	p := c.inside[i]
	c.inside = slices.Delete(c.inside, i, i+1)
	p.release(load(rapid.IntRange(int(unknown), int(tooMuch)).Draw(t, "load")))
}

func (c *crowd) leave(t *rapid.T) {
	if len(c.waiting) == 0 {
		t.Skip("nobody waits")
	}
	i := rapid.IntRange(0, len(c.waiting)-1).Draw(t, "who")
	c.waiting[i].leave()
	if err := <-c.waiting[i].ended; err != context.Canceled {
		t.Fatalf("who left got %v", err)
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
}

// check lets everybody get as far as they can.
func (c *crowd) check(t *rapid.T) {
	synctest.Wait()
	for len(c.waiting) > 0 && len(c.waiting[0].got) > 0 {
		c.inside = append(c.inside, <-c.waiting[0].got)
		c.waiting[0].leave() // its context's end is nothing to who is inside
		c.waiting = c.waiting[1:]
	}
	limit, held := c.limiter.state()
	switch {
	case limit < 1 || limit > c.ceiling:
		t.Fatalf("the limit is %d, of 1 to %d", limit, c.ceiling)
	case held != len(c.inside):
		t.Fatalf("%d permits are held, and %d in order of arrival", held, len(c.inside))
	case held < limit && len(c.waiting) > 0:
		t.Fatalf("%d of %d are inside, and %d wait", held, limit, len(c.waiting))
	}
}

func TestLimiter_OneMomentCutsOnce(t *testing.T) {
	t.Parallel()
	l := newLimiter(16)
	var together []permit
	for range 16 {
		p, err := l.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		together = append(together, p)
	}
	for _, p := range together {
		p.release(tooMuch)
	}
	if limit, _ := l.state(); limit != 8 {
		t.Errorf("the limit is %d after sixteen refusals of one moment, want 8", limit)
	}
	p, err := l.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.release(tooMuch)
	if limit, _ := l.state(); limit != 4 {
		t.Errorf("the limit is %d after one of a later moment, want 4", limit)
	}
}
