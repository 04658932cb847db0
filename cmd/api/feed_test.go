package main

import (
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// The feed is followed by its cursors, from before the first event to behind the
// last, however small the pages.
func TestFeed_IsFollowedPageByPage(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	client := connect(t, r, s.tenant(t, r, "acme").key)
	want := map[string]int64{} // the last revision of each account
	for _, handle := range []string{"ada", "bob", "cy", "dee", "eve"} {
		id, err := create(t, client, handle, handle+"@example.com")
		if err != nil {
			t.Fatal(err)
		}
		want[id] = 1
	}
	params := holdfast.ListEventsParams{Limit: ptr(int64(2))}
	got := map[string]int64{}
	follow := func() {
		t.Helper()
		for more := true; more; {
			page, err := client.ListEventsWithResponse(t.Context(), &params)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.JSON200.Events {
				if e.Revision != got[e.RecordID]+1 {
					t.Errorf("%s: revision %d comes after %d", e.RecordID, e.Revision, got[e.RecordID])
				}
				got[e.RecordID] = e.Revision
			}
			params.Cursor, more = &page.JSON200.NextCursor, page.JSON200.More
		}
	}
	follow()
	demand := func(when string) {
		t.Helper()
		for id, revision := range want {
			if got[id] != revision {
				t.Errorf("%s: of %s came %d revisions of %d", when, id, got[id], revision)
			}
		}
	}
	demand("from the beginning")
	for id := range want {
		if _, err := client.RemoveEmailWithResponse(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		want[id]++
	}
	follow()
	demand("from where it ended")
}
