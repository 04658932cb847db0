package migration

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const maxKeyBytes = 500

var outcomes = []string{ReadSeen, ReadAbsent, ReadUnavailable, ReadWrong, ReadUnanswered}

// check refuses a report of what wasn't to be read, or of more than that, or one that
// contradicts itself in form. What it says of records is for judge.
func (v *VerificationReport) check(asked *reading) error {
	profile := map[string][]string{}
	for _, c := range asked.Collections {
		profile[c.Name] = c.Sections
	}
	if len(v.Points) > readLimits.Points {
		return errReport("/points", "has more than 128 records")
	}
	pages := map[RecordName]bool{} // collection and section
	for i, page := range v.Pages {
		at := fmt.Sprintf("/pages/%d", i)
		name := RecordName{page.Collection, page.Section}
		switch {
		case !slices.Contains(profile[page.Collection], page.Section):
			return errReport(at, "is of a section that wasn't to be read")
		case pages[name]:
			return errReport(at, "is there twice")
		case len(page.Sections) > asked.PageSize:
			return errReport(at, "has more sections than a page was to have")
		case !slices.Contains(outcomes, page.Outcome):
			return errReport(at+"/outcome", "isn't one of a page's")
		}
		pages[name] = true
		last := int64(0)
		for k, s := range page.Sections {
			if s.Sequence <= last || !validRead(s.Key, s.Revision, &s.SectionRead) {
				return errReport(fmt.Sprintf("%s/sections/%d", at, k), "isn't a section of an export behind the one before")
			}
			last = s.Sequence
		}
	}
	points := map[RecordName]bool{}
	for i, p := range v.Points {
		at := fmt.Sprintf("/points/%d", i)
		name := RecordName{p.Collection, p.Key}
		switch {
		case profile[p.Collection] == nil && !slices.Contains(asked.Points, name):
			return errReport(at, "is of a collection that wasn't to be read")
		case points[name]:
			return errReport(at, "is there twice")
		case !slices.Contains(outcomes, p.Outcome):
			return errReport(at+"/outcome", "isn't one of a record's")
		}
		points[name] = true
		named := map[string]bool{}
		for k, s := range p.Sections {
			if named[s.Section] || s.Section == "" || !validRead(p.Key, p.Revision, &s.SectionRead) {
				return errReport(fmt.Sprintf("%s/sections/%d", at, k), "isn't a section of a record")
			}
			named[s.Section] = true
		}
	}
	return nil
}

func validRead(key string, revision int64, s *SectionRead) bool {
	return key != "" && len(key) <= maxKeyBytes && revision > 0 && s.Sequence > 0 && s.Length >= 0 &&
		s.Live == (s.Digest != nil) && (s.Live || s.Length == 0)
}

func errReport(pointer, is string) error {
	return domain.Invalid("report_invalid", "A part of the report "+is+".").At(pointer)
}

// records are those that a report has anything of, each once, in the order in which
// it names them.
func (v *VerificationReport) records() (all []RecordName) {
	seen := map[RecordName]bool{}
	add := func(name RecordName) {
		if !seen[name] {
			seen[name] = true
			all = append(all, name)
		}
	}
	for _, p := range v.Points {
		if p.Outcome == ReadSeen {
			add(RecordName{p.Collection, p.Key})
		}
	}
	for _, page := range v.Pages {
		for _, s := range page.Sections {
			add(RecordName{page.Collection, s.Key})
		}
	}
	return all
}
