package identity

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

type storedEvent struct {
	tenant domain.TenantID
	Event
}

// eventRows are the events in the order of their streams.
func (d *directory) eventRows(t testing.TB) []storedEvent {
	return collect(t, d, `SELECT tenant_id, `+eventColumns+` FROM events e ORDER BY tenant_id, number, sequence`,
		func(row pgx.CollectableRow) (e storedEvent, err error) {
			e.Event, err = scanEvent(row, &e.tenant)
			return e, err
		})
}

// eventLine is an event without what differs from run to run. A principal that
// is not the test's own is told apart.
func (d *directory) eventLine(names recordNames, e Event) string {
	actor := string(e.Actor.Kind)
	if e.Actor.Kind == ActorPrincipal && e.Actor != principalActor(d.scope) {
		actor = "another principal"
	}
	return fmt.Sprintf("%s %d %s by %s %v", names.of(refTo(e.Family, e.Record)), e.Revision, e.Kind, actor, e.Fields)
}

type tenantRecord struct {
	tenant domain.TenantID
	record ref
}

// revisions are those of all records that there are, tombstones too.
func (d *directory) revisions(t testing.TB) map[tenantRecord]int64 {
	t.Helper()
	type row struct {
		tenantRecord
		revision int64
	}
	rows := collect(t, d, `
SELECT tenant_id, 'account', account_id, revision FROM accounts
UNION ALL
SELECT tenant_id, 'device', device_id, revision FROM devices`, func(from pgx.CollectableRow) (r row, err error) {
		var family domain.Family
		var id domain.RecordID
		err = from.Scan(&r.tenant, &family, &id, &r.revision)
		r.record = refTo(family, id)
		return r, err
	})
	all := map[tenantRecord]int64{}
	for _, r := range rows {
		all[r.tenantRecord] = r.revision
	}
	return all
}

type tenantNumber struct {
	tenant domain.TenantID
	number domain.Number
}

func (d *directory) eventCounters(t testing.TB) map[tenantNumber]int64 {
	t.Helper()
	type row struct {
		stream tenantNumber
		last   int64
	}
	rows := collect(t, d, `SELECT tenant_id, number, last FROM event_counters`, func(from pgx.CollectableRow) (r row, err error) {
		return r, from.Scan(&r.stream.tenant, &r.stream.number, &r.last)
	})
	all := map[tenantNumber]int64{}
	for _, r := range rows {
		all[r.stream] = r.last
	}
	return all
}

// checkEvents holds the events to the records: each record has one for each of
// its revisions, in their order; each stream is dense and ends at its counter;
// and each event stands in its record's number.
func (d *directory) checkEvents(t testing.TB) {
	t.Helper()
	last := map[tenantRecord]Event{}
	ends := map[tenantNumber]int64{}
	for _, e := range d.eventRows(t) {
		record := tenantRecord{e.tenant, refTo(e.Family, e.Record)}
		if e.Number != record.record.Number {
			t.Errorf("the event %s %d of %s stands in %d and not in %d", e.Kind, e.Revision, e.Record, e.Number, record.record.Number)
		}
		if want := last[record].Revision + 1; e.Revision != want {
			t.Errorf("%s %s: an event of revision %d, want that of %d", e.Family, e.Record, e.Revision, want)
		}
		last[record] = e.Event
		stream := tenantNumber{e.tenant, e.Number}
		if want := ends[stream] + 1; e.Sequence != want {
			t.Errorf("the stream of %d goes on with %d, want %d", e.Number, e.Sequence, want)
		}
		ends[stream] = e.Sequence
	}
	for stream, counted := range d.eventCounters(t) {
		if ends[stream] != counted {
			t.Errorf("the stream of %d ends at %d, and its counter is at %d", stream.number, ends[stream], counted)
		}
	}
	revisions := d.revisions(t)
	for record, revision := range revisions {
		if told := last[record].Revision; told != revision {
			t.Errorf("%s %s is at revision %d, and its events end at %d", record.record.Family, record.record.ID, revision, told)
		}
	}
	for record, e := range last {
		if _, exists := revisions[record]; !exists && e.Kind != AccountDeleted && e.Kind != DeviceRemoved {
			t.Errorf("%s %s is gone, and its last event is %s", e.Family, e.Record, e.Kind)
		}
	}
}
