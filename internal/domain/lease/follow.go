package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	followedEntries = 256       // a page
	followedBytes   = 256 << 10 // of payloads, beyond which a page gets no further entry
	followTimeout   = 10 * time.Second
)

var errAhead = domain.Invalid("position_ahead",
	"The journal ends before that position. What was read behind its end is not of this journal; read it again from the start.")

// Following is a reader of a world's journal that keeps up with it: it gets every
// entry once, in order. It holds nothing but its place, so one that is slow costs
// no memory, and it reads from the database alone: being told of entries only
// wakes it. It belongs to one goroutine.
type Following struct {
	service  *Service
	scope    tenancy.Scope
	world    worldRef
	key      worldKey
	position int64 // of the last entry that it got
	nothing  int64 // a told end at which there turned out to be no entry
	doubts   int   // those that it has looked into
	more     bool  // there is more to read at once
	woken    <-chan struct{}
	ends     []func()
}

// Follow begins to follow a world's journal behind a position, 0 for its start.
// The caller closes what it gets.
//
// Errors: not found, invalid position_ahead (with position, the journal's end),
// forbidden, unavailable.
func (s *Service) Follow(ctx context.Context, scope tenancy.Scope, world string, after int64) (*Following, error) {
	h, _, err := s.readHead(ctx, scope.Tenant, world)
	if err != nil {
		return nil, err
	}
	if after > h.Position {
		return nil, errAhead.With("position", h.Position)
	}
	f := &Following{
		service: s, scope: scope, world: h.ref, key: keyOf(scope.Tenant, h.ref),
		position: max(after, 0), more: true, // what was written before it began to watch
	}
	woken, unwatch := s.hub.watch(scope.Tenant, h.ref)
	f.woken = woken
	f.ends = []func(){unwatch, s.poller.follow(scope.Tenant, h.ref), s.notifier.metrics.followed()}
	return f, nil
}

// Close ends it. It may be closed again.
func (f *Following) Close() {
	for _, end := range f.ends {
		end()
	}
	f.ends = nil
}

// Next gives the entries behind those that it gave before, at most a few hundred,
// and waits for them for as long as it may: no entries and no error say that there
// were none within that time. The entries are shared with others who follow the
// world, and not to be changed.
//
// Errors: ctx's, while it waits; not found when the world is retired; forbidden
// when the tenant is suspended; unavailable. After an error another Next goes on
// where it was.
func (f *Following) Next(ctx context.Context, within time.Duration) ([]journal.Entry, error) {
	quiet := time.NewTimer(within)
	defer quiet.Stop()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.behind() {
			if entries, err := f.read(ctx); err != nil || len(entries) > 0 {
				return entries, err
			}
		}
		select {
		case <-f.woken:
		case <-quiet.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// behind tells whether there is a reason to read.
func (f *Following) behind() bool {
	end, doubts := f.service.hub.told(f.key)
	return f.more || doubts != f.doubts || end > max(f.position, f.nothing)
}

// read gives the next page, which may be empty. An empty page that somebody else
// had asked for may be older than the wake, so it is asked for again; the next one
// can't be.
func (f *Following) read(ctx context.Context) ([]journal.Entry, error) {
	var end int64
	end, f.doubts = f.service.hub.told(f.key)
	page, shared, err := f.page(ctx)
	if err == nil && shared && len(page.Entries) == 0 {
		page, _, err = f.page(ctx)
	}
	switch {
	case err != nil:
		f.more = true
		return nil, err
	case len(page.Entries) == 0 && page.Position < f.position:
		return nil, errAhead.With("position", page.Position)
	case len(page.Entries) == 0:
		f.more, f.nothing = false, end
		return nil, nil
	case page.Entries[0].Position != f.position+1:
		return nil, fmt.Errorf("entry %d of a journal comes behind its entry %d", page.Entries[0].Position, f.position)
	}
	f.position += int64(len(page.Entries))
	f.more = page.More
	return page.Entries, nil
}

// page reads behind the position. Those who follow a world have mostly come to the
// same one, and then share what is read. ctx's end doesn't break it off, which
// would cost a connection.
func (f *Following) page(ctx context.Context) (page EntryPage, shared bool, err error) {
	read, err, shared := f.service.pages.Do(fmt.Sprint(f.scope.Tenant, " ", f.world.id, " ", f.position), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTimeout)
		defer cancel()
		return f.service.readEntries(ctx, f.scope.Tenant, f.world, f.position, followedEntries, followedBytes)
	})
	return read.(EntryPage), shared, err
}
