package record

import (
	"strings"
	"testing"
)

// plant is what is done to rows past Holdfast, and what a check must say of it.
type plant struct {
	does string
	sql  string // statements
	want string // lines, in their order
}

// Whatever is done to the rows is found, and named, and nothing else is.
func TestCheck_FindsWhatMustNeverBe(t *testing.T) {
	t.Parallel()
	for format, plants := range map[int16][]plant{
		FormatSQL:   append(plantsOf("sections_in_sql"), plantsInSQL...),
		FormatStore: append(plantsOf("sections_in_store"), plantsInStore...),
	} {
		for _, p := range plants {
			t.Run(map[int16]string{FormatSQL: "sql/", FormatStore: "store/"}[format]+p.does, func(t *testing.T) {
				t.Parallel()
				k := newKeeper(t, format)
				k.lived(t, "orders")
				for _, sql := range strings.Split(p.sql, ";") {
					k.everywhere(t, sql)
				}
				var want []string
				for line := range strings.Lines(strings.TrimSpace(p.want)) {
					want = append(want, strings.TrimSpace(line))
				}
				k.finds(t, want...)
			})
		}
	}
}

// plantsOf are those that are the same in both formats.
func plantsOf(sections string) []plant {
	plants := []plant{
		{"a record isn't live", `UPDATE records SET live = false WHERE item_key = 'small'`, `record_differs orders small`},
		{"a record is live", `UPDATE records SET live = true WHERE item_key = 'gone'`, `record_differs orders gone`},
		{"a record's revision is none", `
			DELETE FROM receipts; ALTER TABLE records DROP CONSTRAINT records_revision_check; UPDATE records SET revision = 0 WHERE item_key = 'small'`,
			`record_differs orders small`},
		{"a record's revision is set back", `UPDATE records SET revision = 1 WHERE item_key = 'done'`, `record_differs orders done done-2`},
		{"a record is lost", `DELETE FROM receipts; DELETE FROM records WHERE item_key = 'small'`, `record_missing orders small`},
		{"a record is lost, sections and all", `
			DELETE FROM records WHERE item_key = 'small'; DELETE FROM SECTIONS WHERE item_key = 'small'; DELETE FROM export_entries WHERE item_key = 'small'`,
			`record_differs orders small small-1`},
		{"a record's sections are lost", `DELETE FROM SECTIONS WHERE item_key = 'gone'; DELETE FROM export_entries WHERE item_key = 'gone'`,
			`record_empty orders gone`},
		{"two primaries are live", `
			UPDATE SECTIONS s SET live = true, digest = o.digest, length = o.length, BODY FROM SECTIONS o
			 WHERE s.item_key = 'done' AND s.section = 'items' AND o.item_key = 'done' AND o.section = 'closed'`,
			`primary_twice orders done`},
		{"a companion is live alone", `
			UPDATE SECTIONS SET live = false, digest = NULL, length = 0, NOBODY WHERE item_key = 'small' AND section = 'items'`,
			`companion_alone orders small decision-packets`},
		{"a companion accompanies another primary", `
			UPDATE SECTIONS SET section = 'plans' WHERE item_key = 'done' AND section = 'items';
			UPDATE export_entries SET section = 'plans' WHERE item_key = 'done' AND section = 'items';
			UPDATE SECTIONS s SET live = true, digest = o.digest, length = o.length, BODY FROM SECTIONS o
			 WHERE s.item_key = 'done' AND s.section = 'plans' AND o.item_key = 'done' AND o.section = 'closed'`,
			`companion_alone orders done plans`},
		{"a section is of no profile", `
			UPDATE SECTIONS SET section = 'notes' WHERE section = 'plans'; UPDATE export_entries SET section = 'notes' WHERE section = 'plans'`,
			`section_unknown orders big notes`},
		{"the export misses a section", `DELETE FROM export_entries WHERE item_key = 'small' AND section = 'items'`,
			`export_entry_missing orders small items`},
		{"the export has another key's section", `UPDATE export_entries SET item_key = 'done' WHERE item_key = 'small' AND section = 'items'`, `
			export_entry_missing orders small items
			export_entry_stray orders done items`},
		{"the export has what isn't there", `
			INSERT INTO export_entries SELECT tenant_id, number, collection_id, 'plans', 1, 'nowhere' FROM collections`,
			`export_entry_stray orders nowhere plans`},
		{"two changes have one place", `
			UPDATE SECTIONS SET export_sequence = 1 WHERE item_key = 'small' AND section = 'decision-packets';
			UPDATE export_entries SET export_sequence = 1 WHERE item_key = 'small' AND section = 'decision-packets'`,
			`export_entry_twice orders big items`},
		{"a place is none", `
			ALTER TABLE export_entries DROP CONSTRAINT export_entries_export_sequence_check; ALTER TABLE SECTIONS DROP CONSTRAINT SECTIONS_export_sequence_check;
			UPDATE SECTIONS SET export_sequence = 0 WHERE item_key = 'small' AND section = 'items';
			UPDATE export_entries SET export_sequence = 0 WHERE item_key = 'small' AND section = 'items'`,
			`counter_behind orders small items`},
		{"the export's counter is set back", `UPDATE collections SET export_sequence = export_sequence - 1`, `
			counter_behind orders x items
			receipt_wrong orders b1-done
			receipt_wrong orders x-1`},
		{"the export's counter is set on", `UPDATE collections SET export_sequence = export_sequence + 1`, `export_short orders`},
		{"the last changes are lost", `
			DELETE FROM receipts; DELETE FROM records WHERE item_key = 'x'; DELETE FROM SECTIONS WHERE item_key = 'x'; DELETE FROM export_entries WHERE item_key = 'x'`,
			`export_short orders`},
		{"a fence is of no record", `UPDATE fences SET item_key = 'nowhere'`, `fence_wrong orders nowhere f`},

		{"a claim is lost", `DELETE FROM item_claims WHERE item_key = 'y'`, `claim_missing orders y b2`},
		{"a claim is of no batch", `UPDATE item_claims SET batch_id = 'b9' WHERE item_key = 'y'`, `
			claim_missing orders y b2
			claim_wrong orders y b9`},
		{"a claim is of another generation", `UPDATE item_claims SET generation = 1 WHERE item_key = 'y'`, `
			claim_missing orders y b2
			claim_wrong orders y b2`},
		{"a claim lasts longer than its item", `UPDATE item_claims SET expires_at = expires_at + interval '1 hour' WHERE item_key = 'y'`,
			`claim_wrong orders y b2`},
		{"a claim is of what is finished", `
			INSERT INTO item_claims SELECT tenant_id, number, collection_id, item_key, batch_id, generation, expires_at FROM batch_items WHERE item_key = 'v'`,
			`claim_wrong orders v b1`},
		{"claims are counted that the counter doesn't know", `UPDATE collections SET claim_generation = 1`, `
			counter_behind orders b2
			counter_behind orders y b2
			counter_behind orders z b2`},
		{"a batch is lost", `DELETE FROM batches WHERE batch_id = 'b2'`, `
			batch_wrong orders y b2
			batch_wrong orders z b2`},
		{"a batch's items are lost", `DELETE FROM batch_items WHERE batch_id = 'b1'`, `batch_wrong orders b1`},
		{"an item of a completed batch has no outcome", `UPDATE batch_items SET outcome = NULL WHERE item_key = 'x'`, `batch_wrong orders x b1`},
		{"an item of an unfinished batch has one", `UPDATE batch_items SET outcome = 'published' WHERE item_key = 'y'`, `
			batch_wrong orders y b2
			claim_wrong orders y b2`},
		{"an item is newer than its batch", `UPDATE batches SET generation = 1 WHERE batch_id = 'b2'`, `
			batch_wrong orders y b2
			batch_wrong orders z b2`},

		{"a receipt can't be read", `UPDATE receipts SET receipt = '{"publication": 7}' WHERE operation_id = 'x-1'`, `receipt_wrong orders x-1`},
		{"a receipt is of nothing", `UPDATE receipts SET receipt = '{}' WHERE operation_id = 'x-1'`, `receipt_wrong orders x-1`},
		{"a receipt is of another operation", `UPDATE receipts SET operation_id = 'other' WHERE operation_id = 'x-1'`, `receipt_wrong orders other`},
		{"a receipt is of no key", `UPDATE receipts SET receipt = replace(receipt::text, '"key":"x"', '"key":"\u0000"')::json WHERE operation_id = 'x-1'`,
			`receipt_wrong orders x-1`},
		{"a receipt has no outcome", `UPDATE receipts SET receipt = replace(receipt::text, '"published"', '"perhaps"')::json WHERE operation_id = 'x-1'`,
			`receipt_wrong orders x-1`},
		{"a receipt has no revision", `UPDATE receipts SET receipt = replace(receipt::text, '"revision":1', '"revision":0')::json WHERE operation_id = 'x-1'`,
			`receipt_wrong orders x-1`},
		{"a receipt has no fingerprint", `
			ALTER TABLE receipts DROP CONSTRAINT receipts_fingerprint_check; UPDATE receipts SET fingerprint = '' WHERE operation_id = 'x-1'`,
			`receipt_wrong orders x-1`},

		{"a profile can't be read", `UPDATE collections SET profile = '{'`, `collection_wrong orders`},
		{"a profile has no primary", `UPDATE collections SET profile = '{"primaries":[],"companions":{}}'`, `collection_wrong orders`},
		{"a profile isn't in its one form", `UPDATE collections SET profile = profile || ' '`, `collection_wrong orders`},
		{"a collection is bound to another's world", `UPDATE collections SET world_id = 'arena'`, `collection_wrong orders`},
		{"a collection has a name that none may have", `UPDATE collections SET collection = 'orders:A'`, `collection_wrong orders:A`},
		{"two collections have one id", `
			INSERT INTO collections SELECT tenant_id, number, 'orders:b', collection_id, record_format, world_id, profile,
			       export_sequence, row_identity, claim_generation, token, created_at FROM collections`,
			`collection_wrong orders:b`},
	}
	body, noBody := `content = o.content`, `content = NULL`
	if sections == "sections_in_store" {
		body, noBody = `generation = 0`, `generation = NULL`
	}
	for i := range plants {
		plants[i].sql = strings.NewReplacer("SECTIONS", sections, "NOBODY", noBody, "BODY", body).Replace(plants[i].sql)
	}
	return plants
}

var plantsInSQL = []plant{
	{"a section is in both formats", `
		INSERT INTO sections_in_store SELECT tenant_id, number, collection_id, item_key, section, live, digest, length, 0, producer, export_sequence, updated_at
		  FROM sections_in_sql WHERE item_key = 'small' AND section = 'items'`,
		`section_twice orders small items`},
	{"a section is in the store, and nothing is moved", `
		INSERT INTO sections_in_store SELECT tenant_id, number, collection_id, item_key, section, live, digest, length, NULL, producer, export_sequence, updated_at
		  FROM sections_in_sql WHERE item_key = 'gone';
		DELETE FROM sections_in_sql WHERE item_key = 'gone'`,
		`section_misplaced orders gone items`},
	{"the rows' counter is set back", `UPDATE collections SET row_identity = row_identity - 1`, `counter_behind orders x items`},
	{"two rows have one identity", `UPDATE sections_in_sql SET row_identity = 1 WHERE item_key = 'small' AND section = 'items'`,
		`row_identity_twice orders small items`},
	{"a body is changed", `UPDATE sections_in_sql SET content = 'two' WHERE item_key = 'small' AND section = 'items'`, `body_corrupt orders small items`},
	{"a digest is changed", `UPDATE sections_in_sql SET digest = sha256('two') WHERE item_key = 'small' AND section = 'items'`, `body_corrupt orders small items`},
	{"a chunk is changed", `UPDATE section_chunks SET content = set_byte(content, 7, 7) WHERE ordinal = 1`, `body_corrupt orders big items`},
	{"a chunk is lost", `DELETE FROM section_chunks WHERE ordinal = 1`, `chunks_wrong orders big items`},
	{"all chunks are lost", `DELETE FROM section_chunks`, `chunks_wrong orders big items`},
	{"a chunk is out of turn", `UPDATE section_chunks SET ordinal = 5 WHERE ordinal = 0`, `chunks_wrong orders big items`},
	{"a chunk is short", `UPDATE section_chunks SET content = substr(content, 2) WHERE ordinal = 0`, `chunks_wrong orders big items`},
	{"there is a chunk too many", `
		INSERT INTO section_chunks SELECT tenant_id, number, collection_id, item_key, section, 2, content FROM section_chunks WHERE ordinal = 1`,
		`chunks_wrong orders big items`},
	{"there are chunks of a body that is whole", `
		INSERT INTO section_chunks SELECT tenant_id, number, collection_id, 'small', section, ordinal, content FROM section_chunks`,
		`chunks_stray orders small items`},
	{"there are chunks of no section", `
		INSERT INTO section_chunks SELECT tenant_id, number, collection_id, 'small', 'plans', ordinal, content FROM section_chunks`,
		`chunks_stray orders small plans`},
	{"there are chunks of no record", `
		INSERT INTO section_chunks SELECT tenant_id, number, collection_id, 'nowhere', 'items', ordinal, content FROM section_chunks`,
		`record_missing orders nowhere`},
	{"a live row has no digest", dishonestInSQL + `digest = NULL WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row has another length", dishonestInSQL + `length = 7 WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row has a length below nothing", dishonestInSQL + `length = -1 WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row has no content", dishonestInSQL + `content = NULL WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row counts other chunks", dishonestInSQL + `chunks = 3 WHERE item_key = 'big' AND section = 'items'`, `descriptor_wrong orders big items`},
	{"a tombstone has a body", dishonestInSQL + `content = 'x', length = 1 WHERE item_key = 'gone'`, `descriptor_wrong orders gone items`},
	{"a row's identity is none", `
		ALTER TABLE sections_in_sql DROP CONSTRAINT sections_in_sql_row_identity_check; UPDATE sections_in_sql SET row_identity = 0 WHERE item_key = 'gone'`,
		`counter_behind orders gone items`},
}

const dishonestInSQL = `ALTER TABLE sections_in_sql DROP CONSTRAINT sections_in_sql_honest; UPDATE sections_in_sql SET `

var plantsInStore = []plant{
	{"a digest is changed", `UPDATE sections_in_store SET digest = sha256('nobody has this') WHERE item_key = 'small' AND section = 'items'`,
		`body_missing orders small items`},
	{"a length is changed", `UPDATE sections_in_store SET length = 4 WHERE item_key = 'small' AND section = 'items'`, `body_corrupt orders small items`},
	{"a generation is changed", `UPDATE sections_in_store SET generation = 1 WHERE item_key = 'small' AND section = 'items'`, `body_missing orders small items`},
	{"a live row has no digest", dishonestInStore + `digest = NULL WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row has no generation", dishonestInStore + `generation = NULL WHERE item_key = 'small' AND section = 'items'`, `descriptor_wrong orders small items`},
	{"a live row is longer than a process holds", dishonestInStore + `length = 1::bigint << 40 WHERE item_key = 'small' AND section = 'items'`,
		`descriptor_wrong orders small items`},
	{"a tombstone has a digest", dishonestInStore + `digest = sha256('') WHERE item_key = 'gone'`, `descriptor_wrong orders gone items`},
	{"there are chunks of a body in the store", `
		INSERT INTO section_chunks SELECT tenant_id, number, collection_id, item_key, section, 0, 'x' FROM sections_in_store WHERE item_key = 'small' AND section = 'items'`,
		`chunks_stray orders small items`},
	{"a section is in SQL, and nothing is moved", `
		INSERT INTO sections_in_sql SELECT tenant_id, number, collection_id, item_key, section, 1, live, digest, length, NULL, 0, producer, export_sequence, updated_at
		  FROM sections_in_store WHERE item_key = 'gone';
		UPDATE collections SET row_identity = 1;
		DELETE FROM sections_in_store WHERE item_key = 'gone'`,
		`section_misplaced orders gone items`},
}

const dishonestInStore = `ALTER TABLE sections_in_store DROP CONSTRAINT sections_in_store_honest; UPDATE sections_in_store SET `
