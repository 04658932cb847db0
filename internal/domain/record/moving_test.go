package record

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// sqlMoveAbout moves each section of a collection from the store into SQL and back,
// one section a transaction, over and over. What the way back needs of bodies is in
// a table of the test's own.
const sqlMoveAbout = `
CREATE SCHEMA moving;
CREATE TABLE moving.bodies (digest bytea PRIMARY KEY, content bytea NOT NULL);
CREATE PROCEDURE moving.about(p_times integer) LANGUAGE plpgsql AS $$
DECLARE s record;
BEGIN
    FOR i IN 1 .. p_times LOOP
        FOR s IN SELECT x.item_key, x.section FROM sections_in_sql x UNION ALL SELECT x.item_key, x.section FROM sections_in_store x LOOP
            IF i % 2 = 0 THEN
                INSERT INTO sections_in_store (tenant_id, number, collection_id, item_key, section, live, digest, length, generation, producer, export_sequence, updated_at)
                SELECT tenant_id, number, collection_id, item_key, section, live, digest, length, CASE WHEN live THEN 0 END, producer, export_sequence, updated_at
                  FROM sections_in_sql x WHERE x.item_key = s.item_key AND x.section = s.section;
                DELETE FROM section_chunks x WHERE x.item_key = s.item_key AND x.section = s.section;
                DELETE FROM sections_in_sql x WHERE x.item_key = s.item_key AND x.section = s.section;
            ELSE
                INSERT INTO sections_in_sql (tenant_id, number, collection_id, item_key, section, row_identity, live, digest, length, content, chunks, producer, export_sequence, updated_at)
                SELECT tenant_id, number, collection_id, item_key, section, 1, live, x.digest, length, CASE WHEN length <= 524288 THEN b.content END,
                       CASE WHEN length <= 524288 THEN 0 ELSE (length + 524287) / 524288 END, producer, export_sequence, updated_at
                  FROM sections_in_store x LEFT JOIN moving.bodies b USING (digest) WHERE x.item_key = s.item_key AND x.section = s.section;
                INSERT INTO section_chunks (tenant_id, number, collection_id, item_key, section, ordinal, content)
                SELECT tenant_id, number, collection_id, item_key, section, n, substr(b.content, 1 + n * 524288, 524288)
                  FROM sections_in_sql x JOIN moving.bodies b USING (digest) CROSS JOIN LATERAL generate_series(0, x.chunks - 1) n
                 WHERE x.item_key = s.item_key AND x.section = s.section;
                DELETE FROM sections_in_store x WHERE x.item_key = s.item_key AND x.section = s.section;
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
END $$`

// enoughReads is how often each way of reading must have come between moves.
const enoughReads = 20

// R24: whoever reads while sections move from SQL into the store, ten thousand
// times, finds each in one of the two, and its body.
func TestReaders_WhileSectionsMove_SeeEachInOnePlace(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	bodies := map[string]string{"inline": "the body", "empty": "", "chunks": string(bytes.Repeat([]byte("chunked "), 70<<10)), "other": "another"}
	for key, body := range bodies {
		k.publish(t, c, Publication{Key: key, Bodies: map[string][]byte{"items": []byte(body), "plans": []byte(key)}, Expect: Expectation{Absent: true}})
	}
	k.publish(t, c, Publication{Key: "other", Tombstones: []string{"plans"}, Expect: Expectation{Revision: 1}})
	list, export := k.list(t, c), k.export(t, c, "", MaxExported)
	for i, line := range list {
		list[i] = withoutPlace(line)
	}
	admin := k.adminOf(c)
	k.setFormat(t, c, FormatStore) // which breaks the seal
	if _, err := admin.Exec(t.Context(), sqlMoveAbout, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	for key, body := range bodies {
		for _, content := range []string{body, key} {
			digest := DigestOf([]byte(content))
			if _, err := admin.Exec(t.Context(), `INSERT INTO moving.bodies VALUES ($1, $2)`, digest[:], []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
	}

	const sections, moves = 8, 10_000
	var reading sync.WaitGroup
	var moved atomic.Bool
	reads := map[string]func(){
		"body": func() {
			for key, want := range bodies {
				if got := k.body(t, c, key, "items"); got != want {
					t.Errorf("%s has %d bytes, not %d", key, len(got), len(want))
				}
			}
		},
		"list": func() {
			got := k.list(t, c)
			for i, line := range got {
				got[i] = withoutPlace(line)
			}
			if diff := cmp.Diff(list, got); diff != "" {
				t.Errorf("list (-want +got)\n%s", diff)
			}
		},
		"export": func() {
			if diff := cmp.Diff(export, k.export(t, c, "", 3)); diff != "" {
				t.Errorf("export (-want +got)\n%s", diff)
			}
		},
	}
	counts := map[string]*atomic.Int64{}
	for name, read := range reads {
		n := new(atomic.Int64)
		counts[name] = n
		reading.Go(func() {
			for !moved.Load() && !t.Failed() {
				read()
				n.Add(1)
			}
		})
	}
	_, err := admin.Exec(t.Context(), `CALL moving.about($1)`, moves/sections)
	enough := func() bool {
		for _, n := range counts {
			if n.Load() < enoughReads {
				return false
			}
		}
		return true
	}
	for rounds := 0; err == nil && !enough() && rounds < 20; rounds++ { // a slow reader has more time
		_, err = admin.Exec(t.Context(), `CALL moving.about($1)`, moves/sections)
	}
	moved.Store(true)
	reading.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range counts {
		if n := n.Load(); n < enoughReads {
			t.Errorf("%s was read %d times only", name, n)
		}
	}
	var inSQL int
	if err := admin.QueryRow(t.Context(), `SELECT count(*) FROM sections_in_sql`).Scan(&inSQL); err != nil || inSQL != 0 {
		t.Errorf("%d sections in SQL in the end, %v", inSQL, err)
	}
}

// withoutPlace leaves the format out of a line of a list.
func withoutPlace(line string) string {
	var sequence int
	var by, rest string
	if n, _ := fmt.Sscanf(line, "%d by %s in %s", &sequence, &by, &rest); n == 3 {
		return fmt.Sprintf("%d by %s%s", sequence, by, line[len(fmt.Sprintf("%d by %s in 1", sequence, by)):])
	}
	return line
}
