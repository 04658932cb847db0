package lease

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

func TestNotify_WakesTheFollowersOfOtherProcesses(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	other := c.polling(t, never).listening(t)
	for i := range 6 { // on all databases
		world := c.world(t, fmt.Sprint("world-", i))
		r := other.reader(t, world, 0)
		r.upTo(t, 1)
		c.write(t, world, nil, "", "one")
		r.upTo(t, 2)
		c.write(t, world, nil, "", "two")
		c.expectFollowed(t, world, 0, r)
	}
}

// A listener that comes back has the poll look for what it has missed, at once.
func TestNotify_WhatWasMissedIsLookedForWhenListeningAgain(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	world := c.world(t, "arena")
	other := c.polling(t, 50*time.Millisecond)
	r := other.reader(t, world, 0)
	c.write(t, world, nil, "", "missed")
	other.listening(t)
	if err := deafen(t.Context(), c.admin); err != nil {
		t.Fatal(err)
	}
	c.write(t, world, nil, "", "missed too")
	c.expectFollowed(t, world, 0, r)
	c.awaitListeners(t, len(c.router.Databases()))
}

// What many appends have to tell goes out together: never sooner than notifyEvery
// after the last, and at the end everything is told.
func TestNotify_IsSharedByAppends(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	var heard sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	messages := make(chan string, 10_000)
	for _, db := range c.router.Databases() {
		conn, err := pgx.Connect(t.Context(), c.in.AdminURL(t, db.Name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "LISTEN "+channel); err != nil {
			t.Fatal(err)
		}
		heard.Go(func() {
			defer conn.Close(context.WithoutCancel(ctx))
			for {
				n, err := conn.WaitForNotification(ctx)
				if err != nil {
					return
				}
				messages <- n.Payload
			}
		})
	}
	t.Cleanup(func() { stop(); heard.Wait() })

	const worlds, writers, appends = 10, 20, 50
	for i := range worlds {
		c.world(t, fmt.Sprint("world-", i))
	}
	began := time.Now()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range appends {
				if _, err := c.tryWrite(t, fmt.Sprint("world-", (w+i)%worlds), nil, "", "x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	took := time.Since(began)

	want, told := map[worldKey]int64{}, map[worldKey]int64{}
	for i := range worlds {
		ref, _ := refOf(fmt.Sprint("world-", i))
		want[keyOf(c.scope.Tenant, ref)] = 1 + writers*appends/worlds
	}
	count := 0
	for timeout := time.After(10 * time.Second); !cmp.Equal(want, told); count++ {
		select {
		case payload := <-messages:
			m, ok := parseMessage(payload)
			if !ok {
				t.Fatalf("a notification says %q", payload)
			}
			for _, g := range m.grown {
				told[g.world] = max(told[g.world], g.end)
			}
		case <-timeout:
			t.Fatalf("not all was told (-want +got):\n%s", cmp.Diff(want, told))
		}
	}
	most := len(c.router.Databases()) * (int(took/notifyEvery) + 2)
	t.Logf("%d appends in %v: %d notifications", writers*appends, took, count)
	if count > most {
		t.Errorf("%d appends in %v made %d notifications, more than %d", writers*appends, took, count, most)
	}
}

func TestNotifyMessage_IsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		world := rapid.Custom(func(t *rapid.T) worldKey {
			return worldKey(rapid.SliceOfN(rapid.Byte(), len(worldKey{}), len(worldKey{})).Draw(t, "world"))
		})
		m := message{process: rapid.Uint64().Draw(t, "process")}
		for range rapid.IntRange(0, maxTold).Draw(t, "worlds") {
			m.grown = append(m.grown, grown{world.Draw(t, "world"), rapid.Int64Min(1).Draw(t, "end")})
		}
		text := m.text()
		if len(text) >= 8000 {
			t.Fatalf("%d worlds take %d bytes", len(m.grown), len(text))
		}
		got, ok := parseMessage(text)
		if diff := cmp.Diff(m, got, cmp.AllowUnexported(message{}, grown{})); !ok || diff != "" {
			t.Fatalf("written and read (-want +got):\n%s", diff)
		}
		if cut := rapid.IntRange(0, len(text)).Draw(t, "cut"); cut < len(text) {
			if part, ok := parseMessage(text[:cut]); ok && len(part.grown) >= len(m.grown) && len(m.grown) > 0 {
				t.Fatalf("%d of %d bytes are read as all", cut, len(text))
			}
		}
	})
}

func TestNotifyMessage_WhatIsNoneIsNotRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "hello, world", message{}.text() + "A", "{}"} {
		if _, ok := parseMessage(text); ok {
			t.Errorf("%q is read as a message", text)
		}
	}
}
