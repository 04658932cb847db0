package record

import (
	"fmt"
	"slices"
	"strings"
)

// judgeRecord gives what is wrong under a key, and the bodies that can be read
// there: those of live sections whose rows are sound.
func (w *inspectedCollection) judgeRecord(r *inspectedRecord) (wrong []Violation, bodies []wantedBody) {
	v := w.violation.under(r.key)
	if !r.known {
		return []Violation{v.of(RecordMissing, "Sections or chunks stand under a key that has no record: no call finds them. "+
			"Nothing of Holdfast deletes a record: restore it from a backup, or remove these rows.")}, nil
	}
	for _, section := range r.strayed {
		wrong = append(wrong, v.in(section).of(ChunksStray, "Chunks stand there without a section in SQL that they could be of. Remove them."))
	}
	wrong = append(wrong, w.judgeWhole(r)...)
	for n := range r.sections {
		s := &r.sections[n]
		if n > 0 && s.name == r.sections[n-1].name {
			wrong = append(wrong, v.in(s.name).of(SectionTwice, "The section stands in SQL and in the store at once, and nobody knows which is the newer. "+
				"Compare their export sequences, and remove the row of the lower one."))
			continue
		}
		twice := n+1 < len(r.sections) && s.name == r.sections[n+1].name
		if twice {
			continue // told with the other
		}
		found := w.judgeSection(r, s)
		wrong = append(wrong, found...)
		if s.live && !slices.ContainsFunc(found, Violation.concernsBody) {
			bodies = append(bodies, wantedBody{key: r.key, section: s.name, place: s.place(), digest: Digest(s.digest), length: s.length})
		}
	}
	return wrong, bodies
}

// concernsBody tells that the body can't be what its row says, wherever it is.
func (v Violation) concernsBody() bool { return v.Kind == DescriptorWrong || v.Kind == ChunksWrong }

// judgeWhole holds the record's row, and its sections to each other.
func (w *inspectedCollection) judgeWhole(r *inspectedRecord) (wrong []Violation) {
	v := w.violation.under(r.key)
	if len(r.sections) == 0 {
		return []Violation{v.of(RecordEmpty, "The record has no section, not even a tombstone: no call finds it. "+
			"Nothing of Holdfast deletes a section: restore them from a backup.")}
	}
	if r.revision < 1 {
		wrong = append(wrong, v.of(RecordDiffers, fmt.Sprintf("The record has the revision %d, and the first is 1. Restore it from a backup.", r.revision)))
	}
	live := map[string]bool{}
	for _, s := range r.sections {
		if s.live {
			live[s.name] = true
		}
	}
	if r.live != (len(live) > 0) {
		wrong = append(wrong, v.of(RecordDiffers, fmt.Sprintf("The record's row says live = %v, and %d of its sections are live. "+
			"Set its column live to what the sections say.", r.live, len(live))))
	}
	primaries := slices.DeleteFunc(slices.Clone(w.profile.Primaries), func(name string) bool { return !live[name] })
	if len(primaries) > 1 {
		wrong = append(wrong, v.of(PrimaryTwice, "More than one primary is live: "+strings.Join(primaries, ", ")+
			". Publish the right one, which tombstones the others."))
	}
	for _, name := range w.profile.Sections() {
		beside := w.profile.Companions[name]
		if live[name] && len(beside) > 0 && !slices.ContainsFunc(beside, func(primary string) bool { return live[primary] }) {
			wrong = append(wrong, v.in(name).of(CompanionAlone, "The section is live, and none of the primaries is that it accompanies. Tombstone it."))
		}
	}
	return wrong
}

// judgeSection holds a section's row to itself, its collection, its chunks and the
// export.
func (w *inspectedCollection) judgeSection(r *inspectedRecord, s *inspectedSection) (wrong []Violation) {
	v := w.violation.under(r.key).in(s.name)
	tell := func(kind ViolationKind, format string, args ...any) {
		wrong = append(wrong, v.of(kind, fmt.Sprintf(format, args...)))
	}
	if !w.profile.has(s.name) {
		tell(SectionUnknown, "The collection's profile has no such section. Nothing of Holdfast writes it: find out what did, and remove it.")
	}
	if r.sealed && s.format != r.format {
		tell(SectionMisplaced, "The section stands %s, and its collection keeps bodies %s and is sealed: no call finds it. "+
			"Find out what wrote it, and remove its row, or break the seal.", whereIs(s.format), whereIs(r.format))
	}
	if contradiction := s.contradiction(w.s.memory.total); contradiction != "" {
		tell(DescriptorWrong, "%s Restore the section from a backup, or publish it anew.", contradiction)
	} else if s.pieces > 0 && s.chunks == 0 {
		tell(ChunksStray, "%d chunks stand there, and the section's row says that it has none. Remove them.", s.pieces)
	} else if s.pieces != int64(s.chunks) || !s.dense || s.chunks > 0 && s.piecesLength != s.length {
		tell(ChunksWrong, "The section's row says %d chunks of %d bytes in all, and there are %d of %d, dense from 0: %v. "+
			"Restore them from a backup, or publish the section anew.", s.chunks, s.length, s.pieces, s.piecesLength, s.dense)
	}
	if s.sequence < 1 || s.sequence > r.sequence {
		tell(CounterBehind, "The section's last change has the export sequence %d, and its collection has counted to %d. "+
			"Set the collection's column export_sequence to the highest that there is, before anybody publishes.", s.sequence, r.sequence)
	}
	if !s.exported {
		tell(ExportMissing, "The export doesn't have the section at its last change, which has the sequence %d, so readers of it miss it. "+
			"Make the row of export_entries anew from the section.", s.sequence)
	}
	if s.sequenceTwice {
		tell(ExportTwice, "Another section's change has the export sequence %d too, so the order of the two is lost. Publish one of them anew.", s.sequence)
	}
	if s.format == FormatSQL {
		if s.identity < 1 || s.identity > r.identity {
			tell(CounterBehind, "The section's row has the identity %d, and its collection has counted to %d. "+
				"Set the collection's column row_identity to the highest that there is, before anybody publishes.", s.identity, r.identity)
		}
		if s.identityTwice {
			tell(IdentityTwice, "Another row in SQL has the identity %d too. Publish the section anew.", s.identity)
		}
	}
	return wrong
}

func whereIs(format int16) string {
	if format == FormatStore {
		return "in the store"
	}
	return "in SQL"
}

func (s *inspectedSection) place() place {
	at := place{format: s.format, chunked: s.chunks > 0}
	if s.generation != nil {
		at.generation = *s.generation
	}
	return at
}

// contradiction is how the row contradicts itself; "" if it doesn't. A body that
// is longer than all that a process holds at once could never be read.
func (s *inspectedSection) contradiction(most int64) string {
	switch {
	case !s.live && (s.digest != nil || s.length != 0 || s.inline != nil || s.chunks != 0 || s.generation != nil):
		return "The section is a tombstone, and its row says something of a body."
	case !s.live:
		return ""
	case len(s.digest) != len(Digest{}):
		return "The section is live, and its row has no digest of 32 bytes."
	case s.length < 0 || s.length > most:
		return fmt.Sprintf("The section is live, and its row says that its body has %d bytes.", s.length)
	case s.format == FormatStore && (s.generation == nil || *s.generation < 0):
		return "The section is live, and its row doesn't say which generation of its object it has."
	case s.format == FormatSQL && s.length <= chunkSize && (s.inline == nil || int64(*s.inline) != s.length || s.chunks != 0):
		return "The section is live, and its row hasn't the bytes that it says it has."
	case s.format == FormatSQL && s.length > chunkSize && (s.inline != nil || int64(s.chunks) != (s.length+chunkSize-1)/chunkSize):
		return "The section is live, and its row doesn't say as many chunks as its length makes."
	}
	return ""
}
