package lease

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// Writers at two processes, readers of every world at both, and listeners whose
// connections are ended again and again: each reader gets just the journal.
func TestFollow_Storm(t *testing.T) {
	t.Parallel()
	c := newCoordinator(t)
	processes := []*coordinator{
		c.polling(t, 100*time.Millisecond).listening(t),
		c.polling(t, 100*time.Millisecond).listening(t),
	}
	const worlds, writers, appends = 6, 3, 40
	readers := map[string][]*reader{}
	for i := range worlds {
		world := c.world(t, fmt.Sprint("world-", i))
		for _, p := range processes {
			readers[world] = append(readers[world], p.reader(t, world, 0))
		}
	}
	var writing sync.WaitGroup
	for n, p := range processes {
		for w := range writers {
			writing.Go(func() {
				for i := range appends {
					world := fmt.Sprint("world-", (w+i)%worlds)
					if _, err := p.tryWrite(t, world, nil, "", fmt.Sprint(n, w, i)); err != nil {
						t.Errorf("append to %s: %v", world, err)
					}
				}
			})
		}
	}
	wrote := make(chan struct{})
	go func() { writing.Wait(); close(wrote) }()
	for storming := true; storming; {
		select {
		case <-wrote:
			storming = false
		case <-time.After(30 * time.Millisecond):
			if err := deafen(t.Context(), c.admin); err != nil {
				t.Fatal(err)
			}
		}
	}
	for world, all := range readers {
		for _, r := range all {
			c.expectFollowed(t, world, 0, r)
		}
	}
}
