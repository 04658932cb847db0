package main

import (
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// walkAccounts lists all accounts again and again: each that is there throughout a
// walk is listed once, and none twice.
func (s *tempest) walkAccounts(t *testing.T) {
	client := door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key)
	for next := int64(0); s.fleet.await(next); next = s.fleet.progress() + 5*callsBetween {
		s.walk(t, client)
	}
}

func (s *tempest) walk(t *testing.T, client *holdfast.ClientWithResponses) {
	before := s.ledger.present()
	listed := map[string]bool{}
	for params := (&holdfast.ListAccountsParams{Limit: ptr(int64(50))}); ; {
		page, err := client.ListAccountsWithResponse(t.Context(), params)
		switch {
		case unanswered(err) || mayRetry(err):
			if !s.fleet.await(0) {
				return
			}
			continue // with the same cursor
		case err != nil:
			s.fault(t, nil, "the list of accounts got %v", err)
			return
		}
		for _, a := range page.JSON200.Accounts {
			if listed[a.ID] {
				s.fault(t, recordSubject(a.ID), "it was listed twice in one walk")
			}
			listed[a.ID] = true
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
	}
	after := s.ledger.present()
	for st, shaken := range before {
		if now, still := after[st]; still && now == shaken && !listed[st.account] {
			s.fault(t, recordSubject(st.account), "it was there all through a walk, and was not listed")
		}
	}
}
