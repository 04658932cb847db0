//go:build mutate

package record

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMutants removes each guard in turn and sees a test fail that passes with it.
// It takes a while: run make mutate.
func TestMutants(t *testing.T) {
	testkit.RunMutants(t, "../../..", "internal/domain/record", mutants)
}

// in is one edit of a file of this package.
func in(file, old, new string) []testkit.Edit {
	return []testkit.Edit{{File: "internal/domain/record/" + file, Old: old, New: new}}
}

// The locks, and what every transaction compares in spite of them.
var (
	lockOff = in("look.go", "` FOR NO KEY UPDATE) c`", "` LIMIT 2) c`") // another text than that of the look
	casOff  = in("write.go", "AND c.record_format = $7 AND c.token = $8`", "AND $7::smallint IS NOT NULL AND $8::uuid IS NOT NULL`")
)

// Those "under the lock" leave the guard in the look before it, which proves nothing
// for the commit.
var mutants = []testkit.Mutant{
	{Guard: "the format on the locked row", Tests: "TestAWriterPreparedForSQL",
		Edits: in("apply.go", "if c.format == FormatStore && len(p.Bodies) > 0 && !p.stored && !c.rehearsing {", "if false {")},
	{Guard: "the format on the locked row, for all of a completion", Tests: "TestAWriterPreparedForSQL",
		Edits: in("batchcomplete.go", "if c.rehearsing || c.format != FormatStore {", "if true {")},
	{Guard: "the object in the store, before it is named", Tests: "TestPublish_CreatesChanges",
		Edits: in("prepare.go", "_, err := s.store.Ensure(ctx, bodyKey(tenant, c.id, digest, 0), body, digest, known[digest])", "_, _, _, err := body, digest, known, error(nil)")},
	{Guard: "the expected revision, under the lock", Tests: "TestRaces_OfTwoProcesses",
		Edits: in("expect.go", "case e.Revision != 0 && t.revision != e.Revision:", "case c.rehearsing && e.Revision != 0 && t.revision != e.Revision:")},
	{Guard: "the expected absence, under the lock", Tests: "TestRaces_OfTwoProcesses",
		Edits: in("expect.go", "case e.Absent && t != nil && t.live:", "case c.rehearsing && e.Absent && t != nil && t.live:")},
	{Guard: "the expected digests, under the lock", Tests: "TestRaces_OfTwoProcesses",
		Edits: in("expect.go", "(has == nil) != (want == nil) || has != nil && *has != *want {", "c.rehearsing && ((has == nil) != (want == nil) || has != nil && *has != *want) {")},
	{Guard: "the fingerprint of a receipt", Tests: "TestAnOperationID_",
		Edits: in("receipt.go", "if known && r.fingerprint != fingerprint {", "if false {")},
	{Guard: "the receipt, under the lock", Tests: "TestRaces_OfTwoProcesses",
		Edits: in("receipt.go", "r, known := c.receipts[operationID]", "r, known := c.receipts[operationID]\n\tknown = known && c.rehearsing")},
	{Guard: "the order of fences, under the lock", Tests: "TestRaces_OfTwoProcesses",
		Edits: in("expect.go", "case stands == nil || stands.revision < f.Revision:", "case stands == nil || stands.revision < f.Revision || !c.rehearsing:")},
	{Guard: "the content under a fence's revision", Tests: "TestPublications_",
		Edits: in("expect.go", "case stands.item == p.Key && stands.content == p.content():", "case true:")},
	{Guard: "the generation of a claim", Tests: "TestBatch_",
		Edits: in("batch.go", " && stands.generation == claim.Generation", "")},
	{Guard: "the batch of a claim", Tests: "TestBatch_",
		Edits: in("batch.go", "stands.batch == claim.BatchID && ", "")},
	{Guard: "the end of a claim", Tests: "TestBatch_",
		Edits: in("batch.go", " && c.now.Before(c.claims[key].expiresAt)", "")},
	{Guard: "the claim, under the lock", Tests: "TestBatch_",
		Edits: in("batch.go", "!c.isLast(p.Key, *p.Claim), !c.rehearsing && !c.has(p.Key, *p.Claim):", "c.rehearsing && !c.isLast(p.Key, *p.Claim):")},
	{Guard: "the principal of a claim", Tests: "TestBatch_",
		Edits: in("batch.go", "case b != nil && b.principal != p.principal:", "case false:")},
	{Guard: "the caller's token, under the lock", Tests: "TestRevoked_",
		Edits: in("decide.go", "if d.refused = valid(d.caller); d.refused == nil {", "if d.refused = nil; valid != nil {")},
	{Guard: "the lease", Tests: "TestChangesOfABoundCollection_",
		Edits: in("decide.go", `if t.locked.world != "" && !d.made(t.locked) {`, "if false {")},
	{Guard: "the lease, under the lock", Tests: "TestALeaseThatGoes",
		Edits: in("decide.go", `if t.locked.world != "" && !d.made(t.locked) {`, `if t.locked.world != "" && !d.made(t.locked) && t.locked.rehearsing {`)},
	{Guard: "the lock of the world's head", Tests: "TestALeaseThatIsHandedOff",
		Edits: in("look.go", "f.held = lease.Hold(tx, worlds)", "f.held = lease.Look(tx, worlds)")},
	{Guard: "the digest of a body in SQL", Tests: "TestBodies_SpoiltInSQL",
		Edits: in("body.go", "if whole && DigestOf(of.Body) == of.Digest {", "if true {")},
	{Guard: "the collection's lock", Tests: "TestRaces_OfTwoProcesses", Edits: lockOff},
	{Guard: "the collection's token, with the lock off", Tests: "TestRaces_WithTheLocksOff", Edits: casOff},
	{Guard: "the collection's lock and its token", Tests: "TestRaces_OfTwoProcesses", Edits: append(lockOff, casOff...)},
	{Guard: "what stops a transaction that moved nothing, with the lock off", Tests: "TestRaces_WithTheLocksOff",
		Edits: in("write.go", "SELECT demand(count(*) = 1) FROM", "SELECT demand(count(*) >= 0) FROM")},
}
