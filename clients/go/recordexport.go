package holdfast

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// FollowOptions say what is followed of a collection's export. The zero value follows
// all sections from the first change, without bodies.
type FollowOptions struct {
	After   int64       // the sequence that was kept, behind which to begin
	Section SectionName // only this one, if not ""
	Bodies  bool        // with bodies, verified

	// MarkUnavailable goes on where a body can't be had: its section comes with
	// Unavailable. Otherwise it is an error.
	MarkUnavailable bool

	// UntilCaughtUp ends at the end, instead of following.
	UntilCaughtUp bool

	// LongestPause is how long the end is left alone at most, where nothing comes; 5 s
	// if 0. Pauses begin at a tenth of a second.
	LongestPause time.Duration
}

// defaultLongestPause is between two looks at the end.
const defaultLongestPause = 5 * time.Second

// FollowExport reads a collection's changes, page by page and in the order in which
// they were committed, and goes on to follow what comes. At most 200 sections, or 2
// MiB of bodies unless one alone has more, are in a page.
//
// Keep a page's Next with what was made of the page, in one transaction if you can,
// and begin behind it the next time: so nothing is missed, and nothing is seen twice.
// A section that changed several times stands at its last change only. A page whose
// More is false is at the end; the first page comes also when it is empty.
//
// An error comes with an empty page. Where it may pass (no answer, 429, 503, a body
// that is not what it must be), iterating on tries again from the same place, behind
// a pause that grows; any other is the last. When ctx ends, its error is.
func FollowExport(ctx context.Context, client *ClientWithResponses, collection CollectionName, options FollowOptions) iter.Seq2[ExportPage, error] {
	return func(yield func(ExportPage, error) bool) {
		f := &follower{client: client, collection: collection, options: options, after: options.After}
		if f.options.LongestPause == 0 {
			f.options.LongestPause = defaultLongestPause
		}
		f.follow(ctx, yield)
	}
}

// follower is somewhere in an export.
type follower struct {
	client     *ClientWithResponses
	collection CollectionName
	options    FollowOptions
	after      int64
}

func (f *follower) follow(ctx context.Context, yield func(ExportPage, error) bool) {
	var trouble patience
	for first, idle := true, 0; ; {
		page, err := f.page(ctx)
		switch {
		case ctx.Err() != nil:
			yield(ExportPage{}, ctx.Err())
			return
		case err != nil:
			if !yield(ExportPage{}, err) {
				return
			}
			if trouble.waits(ctx, err) {
				continue
			}
			if ctx.Err() != nil {
				yield(ExportPage{}, ctx.Err())
			}
			return
		}
		trouble.failures, idle = 0, idle+1
		if first || page.Next > f.after {
			first, f.after, idle = false, page.Next, 1
			if !yield(page, nil) {
				return
			}
		}
		if page.More {
			continue
		}
		if f.options.UntilCaughtUp {
			return
		}
		if err := wait(ctx, min(backoff(idle), f.options.LongestPause)); err != nil {
			yield(ExportPage{}, err)
			return
		}
	}
}

// page reads what stands behind.
func (f *follower) page(ctx context.Context) (ExportPage, error) {
	params := &ExportRecordsParams{After: &f.after, Section: optional(f.options.Section)}
	if f.options.Bodies {
		bodies := IncludedBodies
		params.Include = &bodies
	}
	if f.options.MarkUnavailable {
		mark := MarkUnavailable
		params.Unavailable = &mark
	}
	answer, err := f.client.ExportRecordsWithResponse(ctx, f.collection, params)
	switch {
	case err != nil:
		return ExportPage{}, err
	case answer.JSON200 == nil:
		return ExportPage{}, errNoJSON
	}
	return *answer.JSON200, f.verify(answer.JSON200)
}

// verify holds a page to its order and its bodies to their digests.
func (f *follower) verify(page *ExportPage) error {
	last := f.after
	for i := range page.Records {
		s := &page.Records[i]
		if s.ExportSequence <= last {
			return fmt.Errorf("holdfast: the export of %s has sequence %d behind %d", f.collection, s.ExportSequence, last)
		}
		last = s.ExportSequence
		if !f.options.Bodies || !s.Live || s.Unavailable != nil && *s.Unavailable {
			continue
		}
		if err := verifyBody(s.Key, s.Section, s.Digest, s.Length, s.Body); err != nil {
			return err
		}
	}
	if page.Next < last {
		return fmt.Errorf("holdfast: the export of %s goes on behind %d from %d", f.collection, page.Next, last)
	}
	return nil
}
