package migration

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// every runs a statement on each data database, as its owner.
func (m *moving) every(t testing.TB, sql string, args ...any) {
	t.Helper()
	for _, db := range m.router.Databases() {
		if _, err := m.admin[db.Name].Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// sum is counted, as observations have it.
func (m *moving) sum(t testing.TB, sql string, args ...any) int64 {
	t.Helper()
	return int64(m.counted(t, sql, args...))
}

func (m *moving) observed(t testing.TB, kind Kind, collections ...string) Observations {
	t.Helper()
	plan := m.plan
	plan.Kind, plan.Collections = kind, collections
	seen, err := m.api.observe(t.Context(), &plan, DefaultPrices, Rate{LowRecords: 1, HighRecords: 10, LowBytes: 1e6, HighBytes: 1e7})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// moveAll moves the bodies of collections into the store.
func (m *moving) moveAll(t testing.TB, all ...record.Collection) {
	t.Helper()
	for _, c := range all {
		if err := m.api.accept(t.Context(), &m.plan, c); err != nil {
			t.Fatal(err)
		}
		if ended, err := m.walk(t.Context(), m.scope.Tenant, record.NumberOf(c.Name), c.ID, unlimited); err != nil || ended != walkDrained {
			t.Fatalf("%s: the walk ended as %q, %v", c.Name, ended, err)
		}
	}
}

func TestObserve_CountsWhatThereIs(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	all := []record.Collection{m.fill(t, "orders", 23), m.fill(t, "invoices", 11), m.fill(t, "empty", 0)}
	seen := m.observed(t, RecordBodies)
	total := Count{
		Records: m.sum(t, `SELECT count(DISTINCT (collection_id, item_key)) FROM sections_in_sql`),
		Live:    m.sum(t, `SELECT count(*) FROM sections_in_sql WHERE live`), Tombstones: m.sum(t, `SELECT count(*) FROM sections_in_sql WHERE NOT live`),
		Bytes: m.sum(t, `SELECT coalesce(sum(length), 0)::bigint FROM sections_in_sql`),
	}
	if diff := cmp.Diff(total, seen.Total); diff != "" || total.Records != 34 || total.Tombstones == 0 {
		t.Errorf("the total (-want +got)\n%s", diff)
	}
	distinct := m.sum(t, `SELECT count(DISTINCT (collection_id, digest)) FROM sections_in_sql WHERE live`)
	if want := (Requests{distinct, total.Live, distinct, total.Live}); seen.Requests != want {
		t.Errorf("the requests are %+v, want %+v", seen.Requests, want)
	}
	bytes := m.sum(t, `SELECT coalesce(sum(length), 0)::bigint FROM (SELECT DISTINCT collection_id, digest, length FROM sections_in_sql WHERE live) s`)
	if want := (Growth{StoreObjects: distinct, StoreBytes: bytes}); seen.Growth != want {
		t.Errorf("the growth is %+v, want %+v", seen.Growth, want)
	}
	if names := namesOf(seen.Collections); !slices.Equal(names, []string{"empty", "invoices", "orders"}) {
		t.Errorf("there are %q", names)
	}
	for _, c := range seen.Collections {
		for _, s := range c.Sections {
			of := func(what string) int64 {
				return m.sum(t, `SELECT coalesce(`+what+`, 0)::bigint FROM sections_in_sql WHERE collection_id = $1 AND section = $2`, c.ID, s.Section)
			}
			want := Count{of(`count(*)`), of(`count(*) FILTER (WHERE live)`), of(`count(*) FILTER (WHERE NOT live)`), of(`sum(length)`)}
			if s.Count != want {
				t.Errorf("%s of %s is %+v, want %+v", s.Section, c.Name, s.Count, want)
			}
		}
		if !c.Distinct.Exact || c.Distinct.Ratio > 1 || c.Format != record.FormatSQL {
			t.Errorf("%s is %+v", c.Name, c)
		}
	}
	bodies, logical := int64(0), int64(0)
	for _, b := range seen.Sizes {
		bodies += b.Bodies
	}
	for _, d := range seen.Databases {
		logical += d.Reclaimable.Logical
		if d.Bytes <= d.Reclaimable.File || d.Reclaimable.File == 0 || d.Connections < 1 || d.ConnectionsAllowed < d.Connections {
			t.Errorf("a database is %+v", d)
		}
	}
	if bodies != total.Live || logical != total.Bytes || seen.Bytes() != total.Bytes {
		t.Errorf("%d bodies of %d bytes in sizes and databases, want %d of %d", bodies, logical, total.Live, total.Bytes)
	}
	if seen.Defects.Length+seen.Defects.Export != 0 || len(seen.Defects.First) != 0 || seen.ContentsRead {
		t.Errorf("there are %+v", seen.Defects)
	}
	if seen.Estimate == nil || seen.Estimate.LowSeconds > seen.Estimate.HighSeconds || seen.Estimate.HighSeconds < total.Records {
		t.Errorf("it takes %+v", seen.Estimate)
	}
	if only := m.observed(t, RecordBodies, "invoices"); only.Total.Records != 11 || len(only.Collections) != 1 {
		t.Errorf("of one collection there are %+v", only.Total)
	}
	if back := m.observed(t, Rehydrate); back.Total != (Count{}) {
		t.Errorf("on the way back there are %+v", back.Total)
	}

	m.moveAll(t, all...)
	back := m.observed(t, Rehydrate)
	if diff := cmp.Diff(total, back.Total); diff != "" {
		t.Errorf("the total of the way back (-want +got)\n%s", diff)
	}
	if want := (Requests{LeastGets: distinct, MostGets: total.Live}); back.Requests != want || back.Growth != (Growth{SQLBytes: total.Bytes}) {
		t.Errorf("the way back asks for %+v, and grows by %+v", back.Requests, back.Growth)
	}
	if diff := cmp.Diff(seen.Sizes, back.Sizes); diff != "" {
		t.Errorf("the sizes of the way back (-want +got)\n%s", diff)
	}
}

func namesOf(all []CollectionCount) (names []string) {
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

func TestObserve_NamesWhatIsNotWhatItSays_WithoutReadingContents(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 10)
	m.every(t, `ALTER TABLE sections_in_sql DROP CONSTRAINT sections_in_sql_honest`)
	m.every(t, `UPDATE sections_in_sql SET content = content || '!' WHERE item_key = 'key-0000' AND section = 'items'`)
	m.every(t, `DELETE FROM section_chunks WHERE item_key = 'key-0002' AND ordinal = 1`)
	m.every(t, `DELETE FROM section_chunks WHERE item_key = 'key-0007'`)
	m.every(t, `DELETE FROM export_entries WHERE item_key = 'key-0003' AND section = 'closed'`)
	m.every(t, `UPDATE sections_in_sql SET content = overlay(content placing '\xff' from 1) WHERE item_key = 'key-0005' AND section = 'items'`) // nobody sees it here
	seen := m.observed(t, RecordBodies)
	want := DefectCount{Length: 3, Export: 1, First: []FoundDefect{
		{"orders", "key-0000", "items", record.DefectLength},
		{"orders", "key-0002", "decision-packets", record.DefectLength},
		{"orders", "key-0003", "closed", record.DefectExport},
		{"orders", "key-0007", "decision-packets", record.DefectLength},
	}}
	if diff := cmp.Diff(want, seen.Defects); diff != "" {
		t.Errorf("the defects (-want +got)\n%s", diff)
	}
	m.every(t, `DELETE FROM export_entries`)
	many := m.observed(t, RecordBodies)
	if many.Defects.Export != many.Total.Live+many.Total.Tombstones || len(many.Defects.First) != firstDefects {
		t.Errorf("%d are defects, and %d are named", many.Defects.Export, len(many.Defects.First))
	}
}

// plant puts so many records of two sections into a collection, where its number
// lives.
func (m *moving) plant(t testing.TB, c record.Collection, records int) {
	t.Helper()
	admin := m.admin[m.router.Database(record.NumberOf(c.Name)).Name]
	for _, sql := range []string{
		`INSERT INTO records SELECT c.tenant_id, c.number, c.collection_id, 'p-' || n, 1, true, now(), now() FROM collections c, generate_series(1, $2::integer) n WHERE c.collection_id = $1`,
		`INSERT INTO sections_in_sql SELECT c.tenant_id, c.number, c.collection_id, 'p-' || n, 'items', 2 * n, true, sha256(n::text::bytea), octet_length(n::text), n::text::bytea, 0, 'p', n, now()
		   FROM collections c, generate_series(1, $2::integer) n WHERE c.collection_id = $1`,
		`INSERT INTO sections_in_sql SELECT c.tenant_id, c.number, c.collection_id, 'p-' || n, 'plans', 2 * n + 1, false, NULL, 0, NULL, 0, 'p', n, now()
		   FROM collections c, generate_series(1, $2::integer) n WHERE c.collection_id = $1`,
		`INSERT INTO export_entries SELECT c.tenant_id, c.number, c.collection_id, s, n, 'p-' || n
		   FROM collections c, generate_series(1, $2::integer) n, unnest('{items,plans}'::text[]) s WHERE c.collection_id = $1`,
		`UPDATE collections SET row_identity = 2 * $2::integer + 1, export_sequence = $2::integer WHERE collection_id = $1`,
	} {
		if _, err := admin.Exec(t.Context(), sql, c.ID, records); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func TestObserve_GoesOnPageByPage(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	const records = countedRows + 1 // two full pages, and two rows more
	m.plant(t, m.fill(t, "orders", 0), records)
	seen := m.observed(t, RecordBodies)
	if seen.Total.Records != records || seen.Total.Live != records || seen.Total.Tombstones != records || seen.Growth.StoreObjects != records {
		t.Errorf("of %d records there are %+v, and %+v", records, seen.Total, seen.Growth)
	}
}

func TestObservations_AreThemselvesBehindJSON(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 5)
	m.every(t, `DELETE FROM export_entries WHERE item_key = 'key-0003'`)
	seen := m.observed(t, RecordBodies)
	text, err := json.Marshal(&seen)
	if err != nil {
		t.Fatal(err)
	}
	var back Observations
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(seen, back); diff != "" {
		t.Errorf("(-was +is)\n%s", diff)
	}
}

// BenchmarkObserve counts 100,000 records of two sections.
func BenchmarkObserve(b *testing.B) {
	m := newMoving(b)
	for i := range 4 {
		m.plant(b, m.fill(b, fmt.Sprint("orders-", i), 0), 25_000)
	}
	for b.Loop() {
		if seen := m.observed(b, RecordBodies); seen.Total.Records != 100_000 {
			b.Fatalf("there are %+v", seen.Total)
		}
	}
}
