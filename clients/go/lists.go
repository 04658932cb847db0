package holdfast

import (
	"context"
	"iter"
	"time"
)

// walk asks for page after page, from where params say until a page names no next one,
// and gives their items. It leaves the caller's params alone.
func walk[P, T any](params *P, cursor func(*P) **Cursor, page func(*P) ([]T, *Cursor, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var p P
		if params != nil {
			p = *params
		}
		for {
			items, next, err := page(&p)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if next == nil {
				return
			}
			*cursor(&p) = next
		}
	}
}

// FollowEvents reads what happened in the whole directory, page by page from behind a
// cursor that was kept, or from the first event that is kept if it is "", and goes on to
// follow what comes. Keep a page's NextCursor with what was made of the page, and begin
// there the next time: so no event is missed, and none comes twice.
//
// The end is left alone for a tenth of a second at first, and for up to 5 seconds where
// nothing comes. An error comes with an empty page. Where it may pass, iterating on tries
// again from the same place, behind a pause that grows; any other is the last. When ctx
// ends, its error is.
func FollowEvents(ctx context.Context, client *ClientWithResponses, cursor Cursor) iter.Seq2[Feed, error] {
	return func(yield func(Feed, error) bool) {
		var trouble patience
		for idle := 1; ; {
			answer, err := client.ListEventsWithResponse(ctx, &ListEventsParams{Cursor: optional(cursor)})
			if err == nil && answer.JSON200 == nil {
				err = errNoJSON
			}
			switch {
			case ctx.Err() != nil:
				yield(Feed{}, ctx.Err())
				return
			case err != nil:
				if !yield(Feed{}, err) {
					return
				}
				if trouble.waits(ctx, err) {
					continue
				}
				if ctx.Err() != nil {
					yield(Feed{}, ctx.Err())
				}
				return
			}
			trouble.failures, idle, cursor = 0, idle+1, answer.JSON200.NextCursor
			if len(answer.JSON200.Events) > 0 {
				idle = 1
				if !yield(*answer.JSON200, nil) {
					return
				}
			}
			if answer.JSON200.More {
				continue
			}
			if err := wait(ctx, min(backoff(idle), longestEventsPause)); err != nil {
				yield(Feed{}, err)
				return
			}
		}
	}
}

// longestEventsPause is between two looks at the end of the feed.
const longestEventsPause = 5 * time.Second
