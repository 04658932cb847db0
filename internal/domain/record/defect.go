package record

import "github.com/holdfast-dev/holdfast/internal/domain"

// Defect is a section that isn't what its row says, and so can't be moved.
type Defect struct {
	Key, Section, Reason string
}

// The reasons of defects.
const (
	DefectLength  = "length_mismatch" // the content isn't as long as its row says, or chunks are missing
	DefectDigest  = "digest_mismatch" // the content isn't that of the digest
	DefectExport  = "export_mismatch" // the export doesn't have the section at its sequence
	DefectMissing = "object_missing"  // there is no object where the body belongs
	DefectCorrupt = "object_corrupt"  // the object there is another one
)

// Defects are what can be said against moving the record before its objects are
// read.
func (r *Captured) Defects() (all []Defect) {
	for _, s := range r.Sections {
		inSQL := s.Live && s.place.format == FormatSQL
		switch {
		case !s.exported:
			all = append(all, Defect{r.Key, s.Name, DefectExport})
		case inSQL && !s.whole:
			all = append(all, Defect{r.Key, s.Name, DefectLength})
		case inSQL && DigestOf(s.Body) != s.Digest:
			all = append(all, Defect{r.Key, s.Name, DefectDigest})
		}
	}
	return all
}

// defective is the reason for which a body can't be had from the store, whoever
// asks and however often; "" for what may pass.
func defective(err error) string {
	switch code := domain.CodeOf(err); code {
	case codeMissing:
		return DefectMissing
	case codeCorrupt:
		return DefectCorrupt
	}
	return ""
}
