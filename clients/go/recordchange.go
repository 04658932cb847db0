package holdfast

import (
	"crypto/rand"
	"fmt"
)

// RecordChange is what a publication changes of a record. It leaves out the sections
// that stay as they are, and names at least one to write or to tombstone.
type RecordChange struct {
	// OperationID is the caller's name for this change, 1 to 200 printable ASCII
	// characters; a random one if "". For 7 days the same change under the same id is
	// made once. A program that may crash while it publishes keeps the id before, and
	// publishes under it again afterwards.
	OperationID OperationID

	Producer   string                 // who publishes, 1 to 200 printable ASCII characters; the principal's name if ""
	Sections   map[SectionName][]byte // bodies to write, exact bytes, nil for an empty one; 2 MiB each and 8 MiB a record
	Tombstones []SectionName

	// Exactly one of these says what is to be changed.
	IfRevision int64                  // the record's revision that the change was made from
	IfAbsent   bool                   // the record has no live section
	Expect     map[SectionName]Digest // what sections have now; "" for one that isn't live
	Fence      *NewFence              // nothing newer has been published under its key

	// Lease is the world's, for a collection that is bound to one: HeldLease.Authority.
	Lease HoldfastLease

	// Batch is the claim that must stand. HeldBatch.Publish sets it.
	Batch *BatchClaim

	// ConflictBodies has the record of a RecordConflictError come with its bodies,
	// verified.
	ConflictBodies bool
}

// named is the change with an operation id, which stays the same however often it is
// sent.
func (c RecordChange) named() RecordChange {
	if c.OperationID == "" {
		c.OperationID = rand.Text()
	}
	return c
}

// size is that of the bodies, in bytes.
func (c *RecordChange) size() (n int) {
	for _, body := range c.Sections {
		n += len(body)
	}
	return n
}

func (c *RecordChange) params() *PutRecordParams {
	var p PutRecordParams
	if c.IfRevision != 0 {
		tag := fmt.Sprintf(`"%d"`, c.IfRevision)
		p.IfMatch = &tag
	}
	if c.IfAbsent {
		any := "*"
		p.IfNoneMatch = &any
	}
	p.HoldfastLease = optional(c.Lease)
	if c.ConflictBodies {
		bodies := IncludedBodies
		p.Include = &bodies
	}
	return &p
}

// part is the change without its bodies.
func (c *RecordChange) part() PublicationPart {
	return PublicationPart{
		OperationID: c.OperationID,
		Producer:    optional(c.Producer),
		Tombstones:  c.tombstones(),
		Expect:      c.expect(),
		Fence:       c.Fence,
		Batch:       c.Batch,
	}
}

func (c *RecordChange) publication() Publication {
	p := c.part()
	return Publication{
		OperationID: p.OperationID, Producer: p.Producer, Sections: c.sections(), Tombstones: p.Tombstones,
		Expect: p.Expect, Fence: p.Fence, Batch: p.Batch,
	}
}

// claimed is the change as one of a batch's.
func (c *RecordChange) claimed(key ItemKey, generation ClaimGeneration) ClaimedPublication {
	p := ClaimedPublication{
		Key: key, Generation: generation, OperationID: c.OperationID, Producer: optional(c.Producer),
		Sections: c.sections(), Tombstones: c.tombstones(), Expect: c.expect(), Fence: c.Fence,
	}
	if c.IfRevision != 0 {
		p.IfRevision = &c.IfRevision
	}
	if c.IfAbsent {
		p.IfAbsent = &c.IfAbsent
	}
	return p
}

func (c *RecordChange) sections() *Sections {
	if len(c.Sections) == 0 {
		return nil
	}
	sections := make(Sections, len(c.Sections))
	for name, body := range c.Sections {
		sections[name] = SectionBody{Body: append(Body{}, body...)} // an empty one is "", and nil would be null
	}
	return &sections
}

func (c *RecordChange) tombstones() *Tombstones {
	if len(c.Tombstones) == 0 {
		return nil
	}
	return &c.Tombstones
}

func (c *RecordChange) expect() *ExpectedDigests {
	if len(c.Expect) == 0 {
		return nil
	}
	expect := make(ExpectedDigests, len(c.Expect))
	for name, digest := range c.Expect {
		expect[name] = optional(digest)
	}
	return &expect
}

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
