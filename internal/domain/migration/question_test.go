package migration

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// told is all that readers are told of a tenant's records, a line for each thing
// that no migration may change: collections with their counters, records with their
// revisions, sections with what they are and where they stand in the export, and
// receipts. Where bodies are isn't in it.
type told map[string]string

// question asks, of all of a tenant's records, through the public reads: does each
// live section read back as its digest, in every way in which it can be read, is a
// tombstone a tombstone, and do counters equal rows? What it gives is to be compared
// with an earlier answer.
func (m *moving) question(t testing.TB) told {
	t.Helper()
	q := &questioner{moving: m, TB: t, told: told{}}
	collections, err := m.api.records.Collections(t.Context(), m.scope, "", 500)
	q.must(err)
	for _, c := range collections.Collections {
		q.told["collection "+c.Name] = fmt.Sprintf("%v of %s, %s, made %v, at %d", c.ID, c.World, c.Profile, c.CreatedAt, c.Sequence)
		q.export(c)
		q.records(c)
		q.receipts(c)
	}
	q.check()
	return q.told
}

// unchanged asks the question, and holds the answer to one before.
func (m *moving) unchanged(t testing.TB, before told) {
	t.Helper()
	if diff := cmp.Diff(before, m.question(t)); diff != "" {
		t.Errorf("readers are told something else (-before +after)\n%s", diff)
	}
}

type questioner struct {
	*moving
	testing.TB
	told told
}

func (q *questioner) must(err error) {
	q.Helper()
	if err != nil {
		q.Fatal(err)
	}
}

// export reads all that has changed, with the bodies.
func (q *questioner) export(c record.Collection) {
	q.Helper()
	last := int64(0)
	for more := true; more; {
		page, err := q.api.records.Export(q.Context(), q.scope, c.Name, record.ExportRequest{After: last, Bodies: true})
		q.must(err)
		for _, e := range page.Records {
			if e.Sequence <= last {
				q.Errorf("the export of %s gives %d behind %d", c.Name, e.Sequence, last)
			}
			last = e.Sequence
			q.sound(e.Key, &e.Section, e.Body)
			q.told[fmt.Sprintf("export %s %d", c.Name, e.Sequence)] = e.Key + " " + worded(&e.Section)
		}
		more = page.More
		page.Close()
	}
}

// records reads every record as lists give it, by itself with all its bodies, and
// each body by itself.
func (q *questioner) records(c record.Collection) {
	q.Helper()
	page, err := q.api.records.Records(q.Context(), q.scope, c.Name, record.Filter{}, "", 1000)
	q.must(err)
	for _, listed := range page.Records {
		r, err := q.api.records.RecordWithBodies(q.Context(), q.scope, c.Name, listed.Key)
		q.must(err)
		at := fmt.Sprintf("record %s %s", c.Name, r.Key)
		q.told[at] = fmt.Sprintf("at %d, live %v, made %v, changed %v, with %d", r.Revision, r.Live, r.CreatedAt, r.UpdatedAt, len(r.Sections))
		for i := range r.Sections {
			s := &r.Sections[i]
			q.told[at+" "+s.Name] = worded(s)
			q.sound(r.Key, s, s.Body)
			if listed, _ := listed.Section(s.Name); listed == nil || worded(listed) != worded(s) {
				q.Errorf("%s of %s is listed as %v, and reads as %s", s.Name, r.Key, listed, worded(s))
			}
			q.body(c.Name, r.Key, s)
		}
		r.Close()
	}
}

func (q *questioner) body(collection, key string, s *record.Section) {
	q.Helper()
	body, err := q.api.records.Body(q.Context(), q.scope, collection, key, s.Name)
	switch {
	case !s.Live:
		if domain.KindOf(err) != domain.KindGone {
			q.Errorf("the tombstone %s of %s reads as %v", s.Name, key, err)
		}
		return
	case err != nil:
		q.Errorf("%s of %s: %v", s.Name, key, err)
		return
	}
	q.sound(key, s, body.Body)
	body.Close()
}

// sound holds a body to its digest, and a tombstone to having none.
func (q *questioner) sound(key string, s *record.Section, body []byte) {
	q.Helper()
	switch {
	case s.Live && (record.DigestOf(body) != s.Digest || int64(len(body)) != s.Length):
		q.Errorf("%s of %s reads back as %d bytes that aren't its digest's %d", s.Name, key, len(body), s.Length)
	case !s.Live && (body != nil || s.Length != 0 || s.Digest != record.Digest{}):
		q.Errorf("the tombstone %s of %s reads back as %d bytes", s.Name, key, len(body))
	}
}

// receipts reads each under its operation's id. Which there are, only the tables
// tell.
func (q *questioner) receipts(c record.Collection) {
	q.Helper()
	rows, err := q.admin[q.router.Database(record.NumberOf(c.Name)).Name].Query(q.Context(),
		`SELECT operation_id FROM receipts WHERE tenant_id = $1 AND collection_id = $2`, q.scope.Tenant, c.ID)
	q.must(err)
	var all []string
	for rows.Next() {
		var id string
		q.must(rows.Scan(&id))
		all = append(all, id)
	}
	q.must(rows.Err())
	for _, id := range all {
		stored, err := q.api.records.StoredReceipt(q.Context(), q.scope, c.Name, id)
		q.must(err)
		text := fmt.Sprintf("%s %s at %d, %v:", stored.Publication.Key, stored.Publication.Outcome, stored.Publication.Revision, stored.Publication.At.UTC())
		for _, change := range stored.Publication.Changes {
			text += fmt.Sprintf(" %s %v %v %d at %d", change.Section, change.Live, change.Digest, change.Length, change.Sequence)
		}
		q.told[fmt.Sprintf("receipt %s %s", c.Name, id)] = text
	}
}

// check holds rows, counters, chunks and objects to each other.
func (q *questioner) check() {
	q.Helper()
	census, err := q.api.records.Check(q.Context(), q.scope.Tenant, record.Checking{Bodies: true, Found: func(v record.Violation) error {
		q.Errorf("the check finds %+v", v)
		return nil
	}})
	q.must(err)
	q.told["census"] = fmt.Sprintf("%d collections, %d records, %d live, %d tombstones, %d bodies of %d bytes, %d fences, %d receipts",
		census.Collections, census.Records, census.Live, census.Tombstones, census.Bodies, census.Bytes, census.Fences, census.Receipts)
}

func worded(s *record.Section) string {
	return fmt.Sprintf("%s live %v %v of %d by %s at %d, %v", s.Name, s.Live, s.Digest, s.Length, s.Producer, s.Sequence, s.UpdatedAt.UTC())
}

// another is the same installation with a tenant of its own, whose collections
// begin in the format that a migration of a kind leaves.
func (m *moving) another(t testing.TB, kind Kind) *moving {
	t.Helper()
	tenant, _, err := m.api.control.CreateTenant(t.Context(), operator("ada"), tenancy.NewTenant{Name: "another-" + strings.ToLower(rand.Text()), HandlePolicy: "ascii"})
	if err != nil {
		t.Fatal(err)
	}
	other := *m
	other.scope.Tenant, other.plan.Tenant, other.plan.Kind = tenant.ID, tenant.ID, kind
	if err := m.api.control.BeginRecords(t.Context(), tenant.ID, kind.direction().from); err != nil {
		t.Fatal(err)
	}
	return &other
}

// finish takes a migration from wherever a failure left it to its close, as its
// operators would: by what its state says, and nothing else.
func (m *moving) finish(t testing.TB, id domain.MigrationID) {
	t.Helper()
	for range 20 {
		now := m.now(t, id)
		var err error
		switch now.State {
		case Approved, Activating:
			_, err = m.api.Activate(t.Context(), planner, now.Tenant, id, now.PlanHash)
		case Active:
			m.worked(t, m.Service, m.openRun(t, now))
		case Paused:
			_, err = m.api.Resume(t.Context(), planner, now.Tenant, id, now.PlanHash)
		case Stopped:
			err = m.resume(t.Context(), now)
		case Drained:
			m.verified(t, id)
		case Verified:
			_, err = m.api.Close(t.Context(), planner, now.Tenant, id, now.PlanHash, "all is where it belongs")
		case Closed:
			return
		default:
			t.Fatalf("the migration is %s", now.State)
		}
		if err != nil {
			t.Fatalf("from %s: %v", now.State, err)
		}
	}
	t.Fatalf("the migration doesn't come to its close: it is %+v", m.now(t, id))
}

// resume has the resumption of a stopped migration approved, and resumes it.
func (m *moving) resume(ctx context.Context, stopped Migration) error {
	if _, err := m.api.Approve(ctx, approver, stopped.Tenant, stopped.ID, stopped.PlanHash); err != nil {
		return err
	}
	_, err := m.api.Resume(ctx, planner, stopped.Tenant, stopped.ID, stopped.PlanHash)
	return err
}

// openRun is the run that is open, or a new one.
func (m *moving) openRun(t testing.TB, of Migration) Run {
	t.Helper()
	run, err := m.api.Run(t.Context(), planner, of.Tenant, of.ID, of.PlanHash)
	if domain.CodeOf(err) == errRunUnderWay.Code {
		return m.lastRun(t, of.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return run
}
