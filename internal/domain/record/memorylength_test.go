package record

import (
	"runtime"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// R14: rows that are small as they are kept, and decompress to far more than their
// length says, are refused by their lengths: nothing of them is fetched.
func TestMemory_ContentThatIsLongerThanItsLength_IsNeverFetched(t *testing.T) {
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "bombs")
	k.publish(t, c, Publication{Key: "a", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": chunkyBody, "plans": []byte("small")}})
	for _, sql := range []string{
		`ALTER TABLE sections_in_sql DROP CONSTRAINT sections_in_sql_honest`,
		`ALTER TABLE section_chunks DROP CONSTRAINT section_chunks_content_check`,
		`UPDATE sections_in_sql SET content = convert_to(repeat('x', 64 << 20), 'UTF8') WHERE section = 'plans'`,
		`UPDATE section_chunks SET content = convert_to(repeat('x', 64 << 20), 'UTF8') WHERE section = 'items' AND ordinal = 1`,
	} {
		if _, err := k.adminOf(c).Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	var kept int64
	if err := k.adminOf(c).QueryRow(t.Context(), `
SELECT sum(s) FROM (SELECT pg_column_size(content) AS s FROM sections_in_sql UNION ALL SELECT pg_column_size(content) FROM section_chunks) s`).Scan(&kept); err != nil || kept > 8<<20 {
		t.Fatalf("the rows are kept in %d bytes, %v", kept, err)
	}

	before := allocated()
	for _, section := range []string{"items", "plans"} {
		_, err := k.Body(t.Context(), k.scope, c, "a", section)
		expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	}
	_, err := k.RecordWithBodies(t.Context(), k.scope, c, "a")
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	_, err = k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true})
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	page, err := k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true, Mark: true})
	if err != nil || len(page.Records) != 2 || !page.Records[0].Unavailable || !page.Records[1].Unavailable {
		t.Errorf("with bodies marked: %+v, %v", page, err)
	} else {
		page.Close()
	}
	if took := allocated() - before; took > 16<<20 {
		t.Errorf("it took %d MiB to refuse them", took>>20)
	}
	k.expectNothingTaken(t)

	// Publishing anew mends them.
	k.publish(t, c, Publication{Key: "a", Expect: Expectation{Revision: 1}, Bodies: map[string][]byte{"items": chunkyBody, "plans": []byte("small")}})
	k.expectSound(t, c)
}

// allocated is how much the process has ever allocated, in bytes.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
