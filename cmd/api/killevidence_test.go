package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// evidence is what there is to look at when something is wrong.
type evidence struct {
	what    string
	journal []string
	records []string // ids
	keys    []string
}

func (a *account) evidence() evidence {
	e := evidence{what: *a.wish.DisplayName, journal: a.all(), keys: []string{keyOf(a.wish.Handle)}, records: ids(a.id)}
	if a.wish.Email != nil {
		e.keys = append(e.keys, keyOf(*a.wish.Email))
	}
	if a.told.email != "" {
		e.keys = append(e.keys, keyOf(a.told.email))
	}
	for _, c := range a.open {
		if c.what == emailing {
			e.keys = append(e.keys, keyOf(c.to))
		}
	}
	return e
}

func (d *device) evidence() evidence {
	e := evidence{what: d.label, journal: d.all(), records: ids(d.id, d.told.account)}
	if d.userCode != "" {
		e.keys = []string{strings.ReplaceAll(d.userCode, "-", "")}
	}
	return e
}

func (f *file) evidence() evidence {
	e := evidence{what: "import " + f.lines[0].body.Key, journal: f.all()}
	for _, l := range f.lines {
		if l.account != nil {
			e.records = append(e.records, ids(l.account.id)...)
			e.keys = append(e.keys, keyOf(l.account.wish.Handle), keyOf(*l.account.wish.Email))
		}
	}
	return e
}

func ids(all ...string) (known []string) {
	for _, id := range all {
		if id != "" {
			known = append(known, id)
		}
	}
	return known
}

// keySubject and recordSubject are what is known of where nothing else is.
type keySubject string

func (k keySubject) evidence() evidence { return evidence{what: string(k), keys: []string{string(k)}} }

type recordSubject string

func (r recordSubject) evidence() evidence {
	return evidence{what: string(r), records: []string{string(r)}}
}

// Whoever is wrong is told of with its history, as long as that is readable.
const (
	faultsTold     = 8
	faultsInLength = 4
)

// fault fails the test, ends the storm and shows the history of what is wrong.
// about may be nil.
func (s *tempest) fault(t *testing.T, about interface{ evidence() evidence }, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.fleet.stop()
	s.faults++
	switch {
	case s.faults > faultsTold:
		t.Fail()
	case about == nil:
		t.Errorf(format, args...)
	case s.faults > faultsInLength:
		t.Errorf("%s: %s", about.evidence().what, fmt.Sprintf(format, args...))
	default:
		t.Errorf("%s: %s\n%s", about.evidence().what, fmt.Sprintf(format, args...), s.history(about.evidence()))
	}
}

// history is what the callers were told, and what the databases have.
func (s *tempest) history(e evidence) string {
	var text strings.Builder
	for _, line := range e.journal {
		fmt.Fprintln(&text, "  ", line)
	}
	for _, key := range e.keys {
		for _, st := range s.ledger.all(key) {
			fmt.Fprintf(&text, "   %s: %s may have it from %s to %s (for sure: %v)\n", key, orNone(&st.account), clock(st.from), clock(st.until), st.forSure())
		}
	}
	for _, rows := range []struct {
		sql string
		arg []string
	}{
		{`SELECT 'account ' || row_to_json(a) FROM accounts a WHERE account_id = ANY ($1::text[]::uuid[])`, e.records},
		{`SELECT 'device ' || row_to_json(d) FROM devices d WHERE device_id = ANY ($1::text[]::uuid[])`, e.records},
		{`SELECT 'operation ' || row_to_json(o) FROM operations o WHERE record_id = ANY ($1::text[]::uuid[])`, e.records},
		{`SELECT 'claim ' || row_to_json(c) FROM claims c WHERE owner_id = ANY ($1::text[]::uuid[])`, e.records},
		{`SELECT 'claim ' || row_to_json(c) FROM claims c WHERE key = ANY ($1)`, e.keys},
		{`SELECT 'account of the key ' || row_to_json(a) FROM accounts a WHERE handle_key = ANY ($1) OR email_key = ANY ($1)`, e.keys},
		{`SELECT 'event ' || row_to_json(e) FROM (SELECT * FROM events ORDER BY record_id, revision) e WHERE record_id = ANY ($1::text[]::uuid[])`, e.records},
	} {
		for _, line := range s.rows(rows.sql, rows.arg) {
			fmt.Fprintln(&text, "  ", line)
		}
	}
	return text.String()
}

func (s *tempest) rows(sql string, arg []string) (lines []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, db := range s.directory.databases {
		found, _ := db.Query(ctx, sql, arg)
		some, err := pgx.CollectRows(found, pgx.RowTo[string])
		lines = append(lines, some...)
		if err != nil {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

func clock(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.Format("15:04:05.000")
}

// told is an error in a word.
func told(err error) string {
	var e *holdfast.Error
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &e):
		return e.Code
	default:
		return "no answer"
	}
}

func retryAfterOf(err error) time.Duration {
	var e *holdfast.Error
	errors.As(err, &e)
	if e == nil {
		return 0
	}
	return e.RetryAfter
}
