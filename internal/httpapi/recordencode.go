package httpapi

import (
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// encodeRecord gives a record's metadata. Bodies are written by bodiedRecord.
func encodeRecord(r record.Record) Record {
	encoded := Record{
		Collection: r.Collection,
		Key:        r.Key,
		Revision:   r.Revision,
		Live:       r.Live,
		CreatedAt:  r.CreatedAt.UTC(),
		UpdatedAt:  r.UpdatedAt.UTC(),
		Sections:   make(map[string]RecordSection, len(r.Sections)),
	}
	for i := range r.Sections {
		encoded.Sections[r.Sections[i].Name] = encodeSection(&r.Sections[i])
	}
	return encoded
}

func encodeSection(s *record.Section) RecordSection {
	return RecordSection{
		Live:           s.Live,
		Digest:         digestOrNil(s),
		Length:         s.Length,
		Producer:       s.Producer,
		ExportSequence: s.Sequence,
		UpdatedAt:      s.UpdatedAt.UTC(),
	}
}

// digestOrNil is nil for a tombstone, which has none.
func digestOrNil(s *record.Section) *Digest {
	if !s.Live {
		return nil
	}
	text := s.Digest.String()
	return &text
}

func encodeReceipt(r record.Receipt) Receipt {
	return Receipt{
		OperationID: textOrNil(r.OperationID),
		Key:         r.Key,
		Outcome:     string(r.Outcome),
		Revision:    r.Revision,
		Fence:       encodeFence(r.Fence),
		Changes:     encodeAll(r.Changes, encodeChange),
		At:          r.At.UTC(),
	}
}

func encodeFence(f *record.Fence) *Fence {
	if f == nil {
		return nil
	}
	return &Fence{Key: f.Key, Revision: f.Revision}
}

func encodeChange(c record.Change) SectionChange {
	encoded := SectionChange{Section: c.Section, Live: c.Live, Length: c.Length, ExportSequence: c.Sequence}
	if c.Digest != nil {
		encoded.Digest = textOrNil(c.Digest.String())
	}
	return encoded
}

func encodeCompletion(c record.Completion) Completion {
	return Completion{OperationID: c.OperationID, BatchID: c.BatchID, Items: encodeAll(c.Items, encodeCompletedItem), At: c.At.UTC()}
}

func encodeCompletedItem(i record.CompletedItem) CompletedItem {
	encoded := CompletedItem{Key: i.Key, Generation: i.Generation, Outcome: string(i.Outcome)}
	if i.Receipt != nil {
		receipt := encodeReceipt(*i.Receipt)
		encoded.Receipt = &receipt
	}
	if i.Code != "" {
		encoded.Problem = &RecordProblem{Code: i.Code, Detail: i.Detail, Errors: encodeFields(i.Fields), Section: textOrNil(i.Section)}
		if i.Record != nil {
			standing := encodeRecord(*i.Record)
			encoded.Problem.Record = &standing
		}
	}
	return encoded
}

// encodeMembers gives the facts of an error the form of the API's answers.
func encodeMembers(members map[string]any) map[string]any {
	standing, is := members["record"].(*record.Record)
	if !is {
		return members
	}
	encoded := make(map[string]any, len(members))
	for name, value := range members {
		encoded[name] = value
	}
	encoded["record"] = encodeRecord(*standing)
	return encoded
}
