package httpapi

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// decodePublication gives what a request says of a record, but for its key and what
// headers say.
func decodePublication(body Publication) (record.Publication, error) {
	p, err := decodePart(PublicationPart{
		OperationID: body.OperationID,
		Producer:    body.Producer,
		Tombstones:  body.Tombstones,
		Expect:      body.Expect,
		Fence:       body.Fence,
		Batch:       body.Batch,
	})
	p.Bodies = decodeSections(body.Sections)
	return p, err
}

// decodePart is decodePublication without sections.
func decodePart(body PublicationPart) (record.Publication, error) {
	p := record.Publication{
		OperationID: body.OperationID,
		Producer:    orZero(body.Producer),
		Tombstones:  orZero(body.Tombstones),
	}
	if body.Batch != nil {
		p.Claim = &record.Claim{BatchID: body.Batch.BatchID, Generation: body.Batch.Generation}
	}
	if body.Fence != nil {
		p.Expect.Fence = &record.Fence{Key: body.Fence.Key, Revision: body.Fence.Revision}
	}
	var err error
	p.Expect.Digests, err = decodeDigests(body.Expect)
	return p, err
}

func decodeRecordPublication(item RecordPublication) (record.Publication, error) {
	p, err := decodePublication(Publication{
		OperationID: item.OperationID,
		Producer:    item.Producer,
		Sections:    item.Sections,
		Tombstones:  item.Tombstones,
		Expect:      item.Expect,
		Fence:       item.Fence,
		Batch:       item.Batch,
	})
	p.Key, p.Expect.Revision, p.Expect.Absent = item.Key, orZero(item.IfRevision), orZero(item.IfAbsent)
	return p, err
}

func decodeClaimedPublication(item ClaimedPublication) (record.Publication, error) {
	p, err := decodeRecordPublication(RecordPublication{
		Key:         item.Key,
		OperationID: item.OperationID,
		Producer:    item.Producer,
		Sections:    item.Sections,
		Tombstones:  item.Tombstones,
		IfRevision:  item.IfRevision,
		IfAbsent:    item.IfAbsent,
		Expect:      item.Expect,
		Fence:       item.Fence,
	})
	p.Claim = &record.Claim{Generation: item.Generation}
	return p, err
}

func decodeSections(sections *Sections) map[string][]byte {
	bodies := make(map[string][]byte, len(orZero(sections)))
	for name, section := range orZero(sections) {
		bodies[name] = section.Body
	}
	return bodies
}

// decodeDigests: the schema has seen to the digests' form.
func decodeDigests(expected *ExpectedDigests) (map[string]*record.Digest, error) {
	if expected == nil {
		return nil, nil
	}
	digests := make(map[string]*record.Digest, len(*expected))
	for section, text := range *expected {
		digests[section] = nil
		if text == nil {
			continue
		}
		digest := &record.Digest{}
		if err := digest.UnmarshalText([]byte(*text)); err != nil {
			return nil, invalid([]domain.Field{{Pointer: "/expect" + joinPointer([]string{section}), Code: "wrong_format"}})
		}
		digests[section] = digest
	}
	return digests, nil
}

// noRevision is none that a record has.
const noRevision = -1

// recordRevision reads If-Match as ifMatch does. A tag that can't be one of ours is
// of noRevision, so that its conflict shows the record as any other does.
func recordRevision(header *string) (int64, error) {
	revision, err := ifMatch(header)
	if domain.KindOf(err) == domain.KindPreconditionFailed {
		return noRevision, nil
	}
	return revision, err
}

// optionalRevision is 0 without the header.
func optionalRevision(header *string) (int64, error) {
	if header == nil {
		return 0, nil
	}
	return recordRevision(header)
}

// ifAbsent reads If-None-Match, which has one meaning in a change: nothing must be
// there.
func ifAbsent(header *string) (bool, error) {
	if header == nil {
		return false, nil
	}
	if strings.TrimSpace(*header) != "*" {
		return false, malformed("if_none_match_malformed", `In a change If-None-Match must be "*".`).at("If-None-Match")
	}
	return true, nil
}
