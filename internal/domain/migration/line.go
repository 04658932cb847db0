package migration

import (
	"context"
	"maps"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// line makes passes ready beside the one that commits, in their order: one is
// captured while the bodies of the one before are on their way. So at most three
// passes are held at once.
type line struct {
	m     mover // as it was when the line began
	via   *record.Pipelines
	ready chan (<-chan *prepared) // closed behind the last
	stop  chan struct{}           // closed when nobody wants more

	mu          sync.Mutex
	uncommitted map[string]bool // keys of records in passes that are ready, or on their way
}

// prepared is a pass whose bodies are where they are to go, or at hand.
type prepared struct {
	capture *record.Capture // nil when nothing could be read
	record.Prepared
	err error
}

func (p *prepared) close() {
	if p.capture != nil {
		p.capture.Close()
	}
}

// begin begins a line at the checkpoint. It ends behind a pass that found no row or
// failed, and when no other may begin or the caps have changed.
func (m *mover) begin(ctx context.Context, may budget) *line {
	l := &line{
		m: *m, via: record.NewPipelines(m.caps.InFlight), ready: make(chan (<-chan *prepared), 1), stop: make(chan struct{}),
		uncommitted: map[string]bool{},
	}
	go l.run(ctx, may)
	return l
}

func (l *line) run(ctx context.Context, may budget) {
	defer close(l.ready)
	for after, caps, ok := l.m.at.cursor(), l.m.caps, true; ok && caps == l.m.caps; caps, ok = may(ctx) {
		p := l.capture(ctx, after)
		ready := make(chan *prepared, 1)
		last := p.err != nil || !p.capture.More
		if last {
			ready <- p
		} else {
			after = p.capture.After
			go func() {
				p.Prepared, p.err = l.m.records.Prepare(ctx, p.capture, l.via)
				ready <- p
			}()
		}
		select {
		case l.ready <- ready:
		case <-l.stop:
			(<-ready).close()
			return
		}
		if last {
			return
		}
	}
}

// capture reads what comes behind a place. What is under way is left out: a record
// whose rows lie apart is met again by the next sweep, if anything of it is left.
func (l *line) capture(ctx context.Context, after record.Cursor) *prepared {
	l.mu.Lock()
	uncommitted := maps.Clone(l.uncommitted)
	l.mu.Unlock()
	p := &prepared{}
	p.capture, p.err = l.m.records.Capture(ctx, l.m.tenant, l.m.at.Collection, record.Selection{
		From: l.m.at.Kind.direction().from, After: after, UpTo: l.m.at.Frontier, Caps: l.m.caps,
		LeaveOut: func(key string) bool { return l.m.deferred[key] || uncommitted[key] },
	})
	if p.err == nil {
		l.mark(p, true)
	}
	return p
}

// mark notes that a pass is under way, or isn't any more.
func (l *line) mark(p *prepared, under bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range p.capture.Records {
		if under {
			l.uncommitted[r.Key] = true
		} else {
			delete(l.uncommitted, r.Key)
		}
	}
}

// end lets no other body begin, and waits for those that are on their way.
func (l *line) end() {
	l.via.Stop()
	close(l.stop)
	for ready := range l.ready {
		(<-ready).close()
	}
}
