package identity

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// FeedPosition is how far a follower has read each number's stream: the last
// sequence that it has seen. The zero FeedPosition is the beginning.
type FeedPosition [domain.Numbers]int64

// FeedPage is a page of a tenant's feed. A feed has no end: Next is where to go
// on, also when there is nothing more for now.
type FeedPage struct {
	Events []Event // by number, and each number's in the order of its stream
	Next   FeedPosition
	More   bool // there was more behind Next when the page was read
}

// errFeedRewound is for a position that the streams don't reach any more. To wait
// until they do would pass over the events that were written since.
var errFeedRewound = domain.Invalid("cursor_ahead",
	"The cursor is ahead of the feed, as after a database was restored from a backup. Compare the accounts, and begin again without it.").At("?cursor")

// Feed reads the events of all of a tenant's records behind a position, each
// exactly once over any number of pages, and each record's in the order of its
// revisions. Events of different numbers have no order but their times.
//
// It misses no late commit: a stream's sequences are given out under a lock that
// is held to the commit, so what comes later stands behind what was seen.
//
// Events past their retention are gone. A position that is further behind goes
// on at what is left, and is not told what it missed; a follower that must know
// compares the accounts.
//
// A position in a time that a restore has taken back is told, and told for good.
//
// Errors: unavailable when any database is; invalid cursor_ahead; the gates'
// refusals.
func (s *Service) Feed(ctx context.Context, scope tenancy.Scope, after FeedPosition, limit int) (FeedPage, error) {
	streams := make([]*stream, domain.Numbers)
	for n := range streams {
		streams[n] = &stream{number: domain.Number(n), after: max(after[n], 0)}
	}
	if err := s.onStreams(streams, func(db *postgres.Database, some []*stream) error {
		return s.readEnds(ctx, db, scope.Tenant, some)
	}); err != nil {
		return FeedPage{}, err
	}
	if slices.ContainsFunc(streams, (*stream).rewound) {
		return FeedPage{}, errFeedRewound
	}
	shareOut(streams, min(max(limit, 1), MaxEvents))
	asked := slices.DeleteFunc(slices.Clone(streams), func(st *stream) bool { return st.part == 0 })
	if err := s.onStreams(asked, func(db *postgres.Database, some []*stream) error {
		return s.readParts(ctx, db, scope.Tenant, some)
	}); err != nil {
		return FeedPage{}, err
	}
	var page FeedPage
	for n, st := range streams {
		page.Events = append(page.Events, st.events...)
		page.Next[n] = st.next()
		page.More = page.More || page.Next[n] < st.end
	}
	return page, nil
}
