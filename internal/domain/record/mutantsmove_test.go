//go:build mutate

package record

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestMutantsOfMoves(t *testing.T) {
	testkit.RunMutants(t, "../../..", "internal/domain/record", moveMutants)
}

// moveMutants lack a guard of what a pass moves, or of where a section is looked for.
var moveMutants = []testkit.Mutant{
	{Guard: "what stands of a captured record", Tests: "TestMove_LeavesWhatHasChanged",
		Edits: in("reread.go", "is != nil && was.same(is)", "is != nil || was.same(is)")},
	{Guard: "the row in SQL that a move takes away", Tests: "TestMove_StopsAt",
		Edits: in("move.go", "AND s.row_identity = $6 AND s.export_sequence = $7`", "AND $6::bigint IS NOT NULL AND $7::bigint IS NOT NULL`")},
	{Guard: "the rows in SQL that a move has left", Tests: "TestMove_StopsAt",
		Edits: in("move.go", "demand(count(s.section) = 0)", "demand(count(s.section) >= 0)")},
	{Guard: "the row in the store that a move takes away", Tests: "TestMove_StopsAt",
		Edits: in("write.go", "AND s.section = $5 AND s.export_sequence = $6`", "AND s.section = $5 AND $6::bigint IS NOT NULL`")},
	{Guard: "the rows in the store that a move has left", Tests: "TestMove_StopsAt",
		Edits: in("moveback.go", "demand(count(s.section) = 0)", "demand(count(s.section) >= 0)")},
	{Guard: "the collection's token, of a move back", Tests: "TestMove_BackStops",
		Edits: in("moveback.go", "AND c.token = $7 AND c.row_identity < $4`", "AND $7::uuid IS NOT NULL`")},
	{Guard: "the rows in SQL that a publication leaves behind", Tests: "TestPublish_MovesWhatItChanges",
		Edits: in("write.go", "if s.stood.place.format == FormatSQL {", "if false {")},
	{Guard: "the rows in the store that a publication leaves behind", Tests: "TestPublish_MovesWhatItChanges",
		Edits: in("write.go", "if s.stood.place.format == FormatStore {", "if false {")},
	{Guard: "the seal, on the way to SQL", Tests: "TestSealed_",
		Edits: in("look.go", "CASE WHEN c.sealed AND c.record_format <> 1 THEN", "CASE WHEN false THEN")},
	{Guard: "the seal, on the way to the store", Tests: "TestSealed_",
		Edits: in("look.go", "CASE WHEN c.sealed AND c.record_format <> 2 THEN", "CASE WHEN false THEN")},
	{Guard: "what a seal demands", Tests: "TestSealed_",
		Edits: in("switch.go", "tx.Queue(sqlDemandOneFormat, int16(c.number), c.id, c.format)", "_ = sqlDemandOneFormat")},
	{Guard: "that a change of the format breaks the seal", Tests: "TestMove_ThereAndBack",
		Edits: in("switch.go", "SET record_format = $4, sealed = false,", "SET record_format = $4,")},
	{Guard: "the other objects at a failure", Tests: "TestMove_BackFails",
		Edits: in("ready.go", `if o.defect = defective(err); o.defect != "" {`, `if o.defect = ""; defective(err) != "" {`)},
	{Guard: "the length in SQL, before the content", Tests: "TestMove_OfContent",
		Edits: in("defect.go", "case inSQL && !s.whole:", "case false:")},
}
