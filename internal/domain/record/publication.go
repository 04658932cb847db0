package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Publication asks for one record to be changed. It leaves out the sections that
// it doesn't change.
type Publication struct {
	Key         string
	OperationID string            // 1 to 200 printable ASCII characters, the caller's own
	Producer    string            // likewise; the caller's name if ""
	Bodies      map[string][]byte // by section: exact bytes, never normalized
	Tombstones  []string          // sections
	Expect      Expectation
	Claim       *Claim // of a batch that has the item; nil for none

	principal  domain.PrincipalID // who asks
	digests    map[string]Digest
	everything bool  // all live sections are tombstoned
	stored     bool  // the bodies are in the store, verified
	grows      int64 // bytes, by which the record's live bodies grew when it was decided last
}

// Expectation is what must be so for a publication to be made. Exactly one of
// its fields is set.
type Expectation struct {
	Revision int64              // the record's, which has a live section
	Absent   bool               // the record has no live section
	Digests  map[string]*Digest // of sections; nil where a section must not be live
	Fence    *Fence             // no newer publication was made under the key
}

// Fence orders the publications of a producer that doesn't read before it
// writes: a newer revision supersedes all older ones that come after it.
type Fence struct {
	Key      string `json:"key"`
	Revision int64  `json:"revision"` // 1 to 2^53-1
}

// Claim is a batch's hold of an item.
type Claim struct {
	BatchID    string
	Generation int64
}

// Limits bound what a caller may publish.
type Limits struct {
	Body   int64 // bytes of one body
	Record int64 // bytes of all live bodies of a record
}

// DefaultLimits are those of every tenant, unless Options says otherwise.
var DefaultLimits = Limits{Body: 2 << 20, Record: 8 << 20}

// MaxPublications is how many records one request may change.
const MaxPublications = 100

var (
	errOperationID = domain.Invalid("operation_id_invalid", "An operation id has 1 to 200 printable ASCII characters.").At("/operation_id")
	errProducer    = domain.Invalid("producer_invalid", "A producer's name has 1 to 200 printable ASCII characters.").At("/producer")
	errNothing     = domain.Invalid("sections_missing", "A publication names at least one section to write or to tombstone.").At("/sections")
	errFence       = domain.Invalid("fence_invalid", "A fence has a key of 1 to 200 printable ASCII characters and a revision from 1 to 2^53-1.").At("/fence")
	errExpectation = domain.PreconditionRequired("precondition_required",
		"Say what is to be changed by exactly one of If-Match, If-None-Match: *, expect and fence.")
	errExpectTwice = domain.Invalid("precondition_ambiguous",
		"Exactly one of If-Match, If-None-Match: *, expect and fence says what is to be changed.")
	errTwice = domain.Invalid("section_twice", "A section is written or tombstoned, not both, and once.").At("/tombstones")
)

// by says who asks for it.
func (p *Publication) by(scope tenancy.Scope) {
	if p.principal = scope.Principal; p.Producer == "" {
		p.Producer = scope.Name
	}
}

// check holds the publication against what can be said without its collection,
// and computes the digests.
func (p *Publication) check(limits Limits) error {
	switch {
	case !validKey(p.Key):
		return errKey.At("/key")
	case !validText(p.OperationID) && !(p.everything && p.OperationID == ""):
		return errOperationID
	case !validText(p.Producer):
		return errProducer
	case len(p.Bodies)+len(p.Tombstones) == 0 && !p.everything:
		return errNothing
	case p.Claim != nil && !validText(p.Claim.BatchID):
		return errBatchID.At("/batch/batch_id")
	}
	if err := p.Expect.check(); err != nil {
		return err
	}
	named := slices.Sorted(slices.Values(slices.Concat(p.Tombstones, slices.Collect(maps.Keys(p.Bodies)))))
	if len(slices.Compact(slices.Clone(named))) < len(named) {
		return errTwice
	}
	total := int64(0)
	p.digests = make(map[string]Digest, len(p.Bodies))
	for section, body := range p.Bodies {
		size := int64(len(body))
		if total += size; size > limits.Body || total > limits.Record {
			return errTooLarge(limits).At("/sections/" + escaped(section))
		}
		p.digests[section] = DigestOf(body)
	}
	return nil
}

func (e *Expectation) check() error {
	set := 0
	for _, given := range []bool{e.Revision != 0, e.Absent, len(e.Digests) > 0, e.Fence != nil} {
		if given {
			set++
		}
	}
	switch {
	case set == 0:
		return errExpectation
	case set > 1:
		return errExpectTwice
	case e.Fence != nil && (!validText(e.Fence.Key) || e.Fence.Revision < 1 || e.Fence.Revision > maxFenceStep):
		return errFence
	}
	return nil
}

func errTooLarge(limits Limits) *domain.Error {
	return domain.TooLarge("bodies_too_large", fmt.Sprintf(
		"A body has at most %d bytes, and the live bodies of a record have at most %d together.", limits.Body, limits.Record))
}

func errNoSection(pointer string) error {
	return domain.Invalid("section_unknown", "The collection's profile has no such section.").At(pointer)
}

// escaped makes a name one step of a JSON pointer (RFC 6901, section 3).
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// size is the bytes of all bodies.
func (p *Publication) size() (bytes int) {
	for _, body := range p.Bodies {
		bytes += len(body)
	}
	return bytes
}
