package record

import (
	"fmt"
	"testing"
)

// Ten thousand records, of more bytes than there is memory for bodies. A part has
// what it takes within the tenant's share. It isn't parallel: it measures the process.
func TestSnapshot_OfTenThousandRecordsTakesBoundedMemory(t *testing.T) {
	k := newKeeper(t, FormatSQL)
	c, w := k.collection(t, "orders"), k.upkeep(t, Options{Memory: NewMemory(3 * snapshotRoom(DefaultLimits))})
	const size, records = 10 << 10, 10_000
	of, err := k.Collection(t.Context(), k.scope, c)
	if err != nil {
		t.Fatal(err)
	}
	k.plant(t, of, records, size)
	asked := k.request(t, c)
	heap := watchHeap()
	sn := k.complete(t, w, c, asked)
	peak := heap.stop()
	t.Logf("the heap grew by %d MiB for %d parts of %d MiB together", peak>>20, sn.Parts, sn.Length>>20)
	if peak > uint64(3*snapshotRoom(DefaultLimits)+48<<20) || sn.Length < records*size {
		t.Errorf("the heap grew by %d MiB", peak>>20)
	}
	if sn.Lines != records || sn.Sequence != records {
		t.Errorf("made as %+v", sn)
	}
	for _, part := range k.parts(t, c, sn) {
		if part.Length > maxPart {
			t.Errorf("part %d has %d bytes", part.Ordinal, part.Length)
		}
	}
	if !w.memory.idle() {
		t.Error("somebody has kept room in memory")
	}
}

// plant puts records into SQL, faster than they can be published.
func (k *keeper) plant(t *testing.T, of Collection, records, size int) {
	t.Helper()
	admin := k.admin[k.databaseOf(of.Name)]
	number := int16(numberOf(of.Name))
	for _, sql := range []string{
		`INSERT INTO records SELECT $1, $2, $3, 'item/' || lpad(i::text, 5, '0'), 1, true, now(), now() FROM generate_series(1, $4) i WHERE $5 > 0`,
		`INSERT INTO sections_in_sql SELECT $1, $2, $3, 'item/' || lpad(i::text, 5, '0'), 'items', i, true, sha256(b.body), $5, b.body, 0, 'p', i, now()
		   FROM generate_series(1, $4) i CROSS JOIN LATERAL (SELECT decode(repeat(lpad(to_hex(i), 8, '0'), $5 / 4), 'hex') AS body) b`,
		`INSERT INTO export_entries SELECT $1, $2, $3, 'items', i, 'item/' || lpad(i::text, 5, '0') FROM generate_series(1, $4) i WHERE $5 > 0`,
		`UPDATE collections SET export_sequence = $4, row_identity = $4 WHERE tenant_id = $1 AND number = $2 AND collection_id = $3 AND $5 > 0`,
	} {
		if _, err := admin.Exec(t.Context(), sql, k.scope.Tenant, number, of.ID, records, size); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", sql, err))
		}
	}
}

// parts are all of a snapshot's.
func (k *keeper) parts(t *testing.T, c string, sn Snapshot) (parts []SnapshotPart) {
	t.Helper()
	for more := true; more; {
		signed, err := k.PresignSnapshot(t.Context(), k.scope, c, sn.ID, len(parts), 0)
		if err != nil {
			t.Fatal(err)
		}
		parts, more = append(parts, signed.Parts...), signed.More
	}
	return parts
}
