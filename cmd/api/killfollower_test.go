package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// follower reads the feed all through a storm, in pages of its own size, and asks
// again with the cursor it has when an answer is lost.
type follower struct {
	*tempest
	client *holdfast.ClientWithResponses
	limit  int64
	cursor *string
	seen   map[string]int64    // the last revision of each record
	kinds  map[revision]string // of all events
}

func (s *tempest) newFollower(t *testing.T, limit int64) *follower {
	t.Helper()
	return &follower{
		tempest: s,
		client:  door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key),
		limit:   limit,
		seen:    map[string]int64{},
		kinds:   map[revision]string{},
	}
}

// run follows until the storm is over: each time that some calls were answered,
// it catches up.
func (f *follower) run(t *testing.T) {
	for next := int64(0); f.fleet.await(next); next = f.fleet.progress() + 40 {
		for more := true; more; {
			more = f.page(t)
		}
	}
}

// page reads one page and tells whether there is more.
func (f *follower) page(t *testing.T) (more bool) {
	page, err := f.client.ListEventsWithResponse(t.Context(), &holdfast.ListEventsParams{Cursor: f.cursor, Limit: &f.limit})
	if err != nil {
		if !unanswered(err) && !mayRetry(err) {
			f.fault(t, nil, "the feed got %v", err)
		}
		return false
	}
	for _, e := range page.JSON200.Events {
		if last := f.seen[e.RecordID]; e.Revision != last+1 {
			f.fault(t, recordSubject(e.RecordID), "the feed tells of its revision %d (%s) behind %d", e.Revision, e.Kind, last)
		}
		f.seen[e.RecordID] = e.Revision
		f.kinds[revision{e.RecordID, e.Revision}] = e.Kind
	}
	f.cursor = &page.JSON200.NextCursor
	return page.JSON200.More
}

// expectAll holds what the follower has seen, at the end, to what was
// acknowledged and to what stands in the databases.
func (f *follower) expectAll(t *testing.T) {
	t.Helper()
	for f.page(t) {
	}
	stands := map[revision]string{}
	for _, line := range words(t, f.directory, `SELECT record_id || ' ' || revision || ' ' || kind FROM events`) {
		var of revision
		var kind string
		fmt.Sscan(line, &of.record, &of.number, &kind)
		stands[of] = kind
	}
	for of, kind := range f.ledger.kinds {
		if stands[of] != kind {
			f.fault(t, recordSubject(of.record), "its revision %d was acknowledged as %s, and its event is %q", of.number, kind, stands[of])
		}
	}
	if maps.Equal(stands, f.kinds) {
		return
	}
	for of, kind := range stands {
		if f.kinds[of] != kind {
			f.fault(t, recordSubject(of.record), "the follower in pages of %d has missed revision %d (%s)", f.limit, of.number, kind)
		}
	}
	f.fault(t, nil, "the follower in pages of %d has seen %d events of %d", f.limit, len(f.kinds), len(stands))
}

// historian reads the histories of accounts, whoever's they are.
type historian struct {
	*tempest
	client *holdfast.ClientWithResponses
	rng    *rand.Rand
}

func (s *tempest) newHistorian(t *testing.T) *historian {
	t.Helper()
	return &historian{s, door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key), rand.New(rand.NewPCG(s.seed, 1000))}
}

func (h *historian) run(t *testing.T) {
	for next := int64(0); h.fleet.await(next); next = h.fleet.progress() + 20 {
		if id := h.ledger.anyAccount(h.rng); id != "" {
			h.read(t, id)
		}
	}
}

// read reads one history from its beginning: it is dense, and goes at least as far
// as was acknowledged when the last page was asked for.
func (h *historian) read(t *testing.T, id string) {
	params := &holdfast.ListAccountEventsParams{Limit: ptr(int64(1 + h.rng.IntN(4)))}
	var last holdfast.Event
	for {
		least := h.ledger.now(id)
		page, err := h.client.ListAccountEventsWithResponse(t.Context(), id, params)
		if err != nil {
			if !unanswered(err) && !mayRetry(err) {
				h.fault(t, recordSubject(id), "its history got %v", err)
			}
			return
		}
		for _, e := range page.JSON200.Events {
			if e.Revision != last.Revision+1 || e.RecordID != id {
				h.fault(t, recordSubject(id), "its history tells of %+v behind %+v", e, last)
			}
			last = e
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor != nil {
			continue
		}
		if deleted := last.Kind == "account.deleted"; !deleted && last.Revision < least {
			h.fault(t, recordSubject(id), "its history ends with %+v, and revision %d had been acknowledged (%d is its deletion)", last, least, int64(gone))
		}
		return
	}
}
