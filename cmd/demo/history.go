package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oapi-codegen/nullable"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// readTheHistory shows that nothing happened that isn't told.
func readTheHistory(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("What happened")
	client := s.acme.client
	var events []holdfast.Event
	if err := n.step("Ada's history has each revision: what was done, by whom, to which fields", func() error {
		history, err := client.ListAccountEventsWithResponse(ctx, s.ada, nil)
		if err != nil {
			return err
		}
		events = history.JSON200.Events
		for _, e := range events {
			if e.Actor.Kind != "principal" || e.Actor.ID == nil || *e.Actor.ID != s.acme.principal {
				return fmt.Errorf("made by %+v", e.Actor)
			}
		}
		kinds := kindsOf(events, s.ada)
		return expect(kinds == "account.created account.changed account.email_changed", "it is %s", kinds)
	}); err != nil {
		return err
	}
	for _, e := range events {
		n.note("%d  %-22s %s", e.Revision, e.Kind, strings.Join(e.Fields, ", "))
	}
	var feed follower
	if err := n.step("acme's feed has one event for each revision of each account and device", func() error {
		if err := feed.follow(ctx, client); err != nil {
			return err
		}
		return s.expectAllTold(ctx, feed.events)
	}); err != nil {
		return err
	}
	n.note("%d events, of which the television's are: %s", len(feed.events), kindsOf(feed.events, s.television))
	if err := n.step("whoever goes on from there is told what came since, and nothing twice", func() error {
		etag := `"1"`
		_, err := client.PatchAccountWithResponse(ctx, s.bob, &holdfast.PatchAccountParams{IfMatch: &etag},
			holdfast.AccountPatch{DisplayName: nullable.NewNullableWithValue("Robert")})
		if err != nil {
			return err
		}
		feed.events = nil
		if err := feed.follow(ctx, client); err != nil {
			return err
		}
		return expect(len(feed.events) == 1 && kindsOf(feed.events, s.bob) == "account.changed", "it is told %+v", feed.events)
	}); err != nil {
		return err
	}
	var table string
	if err := n.step("holdfast identity check reads every row of every tenant, and nothing is wrong", func() (err error) {
		table, err = operate(ctx, "identity", "check")
		return err
	}); err != nil {
		return err
	}
	for line := range strings.Lines(table) {
		n.note("%s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// follower reads a tenant's feed.
type follower struct {
	cursor *string // where it goes on
	events []holdfast.Event
}

// follow reads all that is there.
func (f *follower) follow(ctx context.Context, client *holdfast.ClientWithResponses) error {
	limit := holdfast.Limit(50)
	for more := true; more; {
		page, err := client.ListEventsWithResponse(ctx, &holdfast.ListEventsParams{Limit: &limit, Cursor: f.cursor})
		if err != nil {
			return err
		}
		f.events = append(f.events, page.JSON200.Events...)
		f.cursor, more = &page.JSON200.NextCursor, page.JSON200.More
	}
	return nil
}

// expectAllTold says that the events tell of every revision of acme's accounts
// and of the television, each once and in order, and of nothing else.
func (s *stack) expectAllTold(ctx context.Context, events []holdfast.Event) error {
	told := map[holdfast.ID]int64{}
	for _, e := range events {
		if told[e.RecordID]++; told[e.RecordID] != e.Revision {
			return fmt.Errorf("revision %d of %s comes as its event %d", e.Revision, e.RecordID, told[e.RecordID])
		}
	}
	accounts, err := allAccounts(ctx, s.acme)
	if err != nil {
		return err
	}
	device, err := s.acme.client.GetDeviceWithResponse(ctx, s.television)
	if err != nil {
		return err
	}
	revisions := map[holdfast.ID]int64{s.television: device.JSON200.Revision}
	for _, a := range accounts {
		revisions[a.ID] = a.Revision
	}
	for id, revision := range revisions {
		if told[id] != revision {
			return fmt.Errorf("%s is at revision %d, and %d are told of", id, revision, told[id])
		}
	}
	return expect(len(told) == len(revisions), "%d records are told of, and there are %d", len(told), len(revisions))
}

// kindsOf are what happened to a record, in order.
func kindsOf(events []holdfast.Event, record holdfast.ID) string {
	var kinds []string
	for _, e := range events {
		if e.RecordID == record {
			kinds = append(kinds, e.Kind)
		}
	}
	return strings.Join(kinds, " ")
}
