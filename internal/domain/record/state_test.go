package record

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// tester is a test, or one of a property's many checks.
type tester interface {
	rapid.TB
	Context() context.Context
}

// sqlRows counts all rows of a collection.
const sqlRows = `
WITH c AS (SELECT tenant_id, number, collection_id FROM collections WHERE tenant_id = $1 AND collection = $2)
SELECT 'sequence ' || (SELECT export_sequence FROM collections WHERE tenant_id = $1 AND collection = $2) ||
       ', records ' || (SELECT count(*) FROM c JOIN records USING (tenant_id, number, collection_id)) ||
       ', sections_in_sql ' || (SELECT count(*) FROM c JOIN sections_in_sql USING (tenant_id, number, collection_id)) ||
       ', section_chunks ' || (SELECT count(*) FROM c JOIN section_chunks USING (tenant_id, number, collection_id)) ||
       ', sections_in_store ' || (SELECT count(*) FROM c JOIN sections_in_store USING (tenant_id, number, collection_id)) ||
       ', export_entries ' || (SELECT count(*) FROM c JOIN export_entries USING (tenant_id, number, collection_id)) ||
       ', receipts ' || (SELECT count(*) FROM c JOIN receipts USING (tenant_id, number, collection_id)) ||
       ', fences ' || (SELECT count(*) FROM c JOIN fences USING (tenant_id, number, collection_id))`

// rows is how many rows there are of a collection.
func (k *keeper) rows(t tester, collection string) (rows string) {
	t.Helper()
	if err := k.adminOf(collection).QueryRow(t.Context(), sqlRows, k.scope.Tenant, collection).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// list tells of all records, as reference.list does, and goes by small pages.
func (k *keeper) list(t tester, collection string) (lines []string) {
	t.Helper()
	for after := ""; ; {
		page, err := k.Records(t.Context(), k.scope, collection, Filter{}, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			lines = append(lines, fmt.Sprintf("%s at %d, live %v", r.Key, r.Revision, r.Live))
			bodies, err := k.RecordWithBodies(t.Context(), k.scope, collection, r.Key)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range bodies.Sections {
				lines = append(lines, fmt.Sprintf("%d by %s in %d: %s", s.Sequence, s.Producer, s.place.format, told(t, s)))
			}
			bodies.Close()
		}
		if after = page.Last; !page.More {
			return lines
		}
	}
}

// told tells of a section by its body, which must be what its row says.
func told(t tester, s Section) string {
	t.Helper()
	if s.Live && (s.Digest != sha256.Sum256(s.Body) || s.Length != int64(len(s.Body))) || !s.Live && (s.Length != 0 || s.Body != nil || s.Digest != Digest{}) {
		t.Errorf("%s has %d bytes in the place of %d of %s", s.Name, len(s.Body), s.Length, s.Digest)
	}
	return shownSection(s.Name, s.Live, string(s.Body))
}

// export follows the export to its end by pages of a size, and tells what
// reference.export does.
func (k *keeper) export(t tester, collection, section string, size int) (lines []string) {
	t.Helper()
	for after := int64(0); ; {
		page, err := k.Export(t.Context(), k.scope, collection, ExportRequest{Section: section, After: after, Limit: size, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Records {
			lines = append(lines, fmt.Sprintf("%d %s at %d: %s", e.Sequence, e.Key, e.Revision, told(t, e.Section)))
		}
		page.Close()
		if page.More && len(page.Records) == 0 {
			t.Errorf("an empty page behind %d, and more", after)
		}
		if after = page.Next; !page.More {
			return lines
		}
	}
}

// ask publishes a request, and tells what it comes to.
func (k *keeper) ask(t tester, collection string, r request) answer {
	t.Helper()
	receipt, err := k.Publish(t.Context(), k.scope, collection, nil, r.publication())
	if err != nil {
		if domain.KindOf(err) == domain.KindInternal {
			t.Fatalf("%+v: %v", r, err)
		}
		k.expectConflictShown(t, collection, r.key, err)
		return answer{Code: domain.CodeOf(err)}
	}
	return toldReceipt(receipt)
}

// toldReceipt tells a receipt as a reference does.
func toldReceipt(receipt Receipt) answer {
	a := answer{Outcome: string(receipt.Outcome), Revision: receipt.Revision, Changes: []string{}, Replayed: receipt.Replayed}
	if receipt.Fence != nil {
		a.Fence = receipt.Fence.Revision
	}
	for _, c := range receipt.Changes {
		line := fmt.Sprintf("%d %s gone", c.Sequence, c.Section)
		if c.Live {
			line = fmt.Sprintf("%d %s %d bytes %s", c.Sequence, c.Section, c.Length, c.Digest)
		}
		a.Changes = append(a.Changes, line)
	}
	return a
}

// expectConflictShown holds a conflict to the record as it stands, which it shows.
func (k *keeper) expectConflictShown(t tester, collection, key string, err error) {
	t.Helper()
	var refusal *domain.Error
	if !errors.As(err, &refusal) || refusal.Code != "revision_stale" && refusal.Code != "record_exists" && refusal.Code != "digest_mismatch" {
		return
	}
	stands, err := k.Record(t.Context(), k.scope, collection, key)
	if domain.CodeOf(err) == "record_not_found" {
		if _, shown := refusal.Members["record"]; shown {
			t.Error("a conflict shows a record that isn't there")
		}
		return
	}
	shown, _ := refusal.Members["record"].(*Record)
	if err != nil || shown == nil {
		t.Errorf("a conflict shows %v, %v", shown, err)
		return
	}
	if diff := cmp.Diff(stands, *shown, cmp.AllowUnexported(Section{}, place{})); diff != "" {
		t.Errorf("the record that a conflict shows (-stands +shown)\n%s", diff)
	}
}

func (r request) publication() Publication {
	p := Publication{
		Key: r.key, OperationID: r.operation, Producer: r.producer, Tombstones: r.tombstones, everything: r.everything,
		Expect: Expectation{Revision: r.revision, Absent: r.absent, Fence: r.fence},
	}
	if len(r.bodies) > 0 {
		p.Bodies = map[string][]byte{}
	}
	for section, body := range r.bodies {
		p.Bodies[section] = []byte(body)
	}
	if len(r.digests) > 0 {
		p.Expect.Digests = map[string]*Digest{}
	}
	for section, body := range r.digests {
		p.Expect.Digests[section] = nil
		if body != nil {
			digest := DigestOf([]byte(*body))
			p.Expect.Digests[section] = &digest
		}
	}
	return p
}

// expectState compares all that there is of a collection with the reference.
func (k *keeper) expectState(t tester, collection string, m *reference, section string, pages int) {
	t.Helper()
	if diff := cmp.Diff(m.rows(), k.rows(t, collection)); diff != "" {
		t.Errorf("rows (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(m.list(), k.list(t, collection)); diff != "" {
		t.Errorf("records (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(m.export(section), k.export(t, collection, section, pages)); diff != "" {
		t.Errorf("export of %q (-want +got)\n%s", section, diff)
	}
}

// setFormat changes a collection's format as only a migration may.
func (k *keeper) setFormat(t tester, collection string, format int16) {
	t.Helper()
	tag, err := k.adminOf(collection).Exec(t.Context(), `UPDATE collections SET record_format = $3, sealed = false WHERE tenant_id = $1 AND collection = $2`, k.scope.Tenant, collection, format)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%v, %v", tag, err)
	}
}
