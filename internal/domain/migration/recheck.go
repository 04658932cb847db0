package migration

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// Why a report fails.
const (
	CollectionVanished = "collection_vanished"     // it was there, and isn't
	RecordVanished     = "record_vanished"         // likewise
	SectionVanished    = "section_vanished"        // likewise; a tombstone would still be there
	RevisionWentBack   = "revision_went_back"      // or the export's sequence did
	ChangedInPlace     = "changed_at_its_revision" // another digest, length or state where nothing was published
	BodyWrong          = "body_wrong"              // a body came that isn't its digest's
)

// Why it isn't complete.
const (
	BodyUnavailable = "body_unavailable" // it couldn't be had then
	NotAnswered     = "not_answered"     // within the limits
	RuntimeDiffers  = "runtime_differs"  // when the phase ended
	NotRead         = "not_read"         // what was to be read is not in the report
)

const maxFindings = 100

// sighting is one section as it was seen.
type sighting struct {
	collection, key, section string
	revision                 int64
	SectionRead
}

type sectionName struct{ collection, key, section string }

func (s *sighting) name() sectionName { return sectionName{s.collection, s.key, s.section} }

func (s *sighting) finding(reason string, was *record.Digest) Finding {
	return Finding{Reason: reason, Collection: s.collection, Key: s.key, Section: s.section, Was: was, Is: s.Digest, Revision: s.revision}
}

// judgement collects what comes out of a report.
type judgement struct {
	Verdict
	incomplete bool
}

// judge makes a verdict of what was seen. was is the baseline; nil while that is what
// is judged. differs is what isn't as the plan says, when the phase ended.
//
// A baseline may have reached its limits: what it covered is what a recheck is held
// to. A recheck reads all of that, or it is incomplete.
func judge(kind ReportKind, asked *reading, was, seen *VerificationReport, differs string) Verdict {
	j := &judgement{Verdict: Verdict{Limits: seen.Limits}}
	j.cover(asked, seen)
	now := j.readings(kind, asked, seen)
	// Pages come before points, so what a point shows is the later.
	for _, pair := range now.inPhase {
		j.compare(&pair[0], &pair[1])
	}
	if was != nil {
		j.hold(was, seen, now)
	}
	if differs != "" {
		j.miss(Finding{Reason: RuntimeDiffers})
	}
	if kind == BaselineReport && len(asked.Collections) > 0 && j.Coverage.Pages == 0 {
		j.incomplete = true
	}
	switch {
	case j.Wrong > 0:
		j.Outcome = VerdictFailed
	case j.incomplete:
		j.Outcome = VerdictIncomplete
	default:
		j.Outcome = VerdictPassed
	}
	return j.Verdict
}

func (j *judgement) fail(f Finding) {
	j.Wrong++
	if len(j.Findings) < maxFindings {
		j.Findings = append(j.Findings, f)
	}
}

// miss notes what keeps the verdict from being complete.
func (j *judgement) miss(f Finding) {
	j.incomplete = true
	if len(j.Missing) < maxFindings {
		j.Missing = append(j.Missing, f)
	}
}

// sightings are what a report shows.
type sightings struct {
	latest  map[sectionName]sighting
	points  map[RecordName]*PointRead
	inPhase [][2]sighting // one section, on a page and then by its key
}

// readings takes in what a report shows, and how each read went.
func (j *judgement) readings(kind ReportKind, asked *reading, seen *VerificationReport) *sightings {
	all := &sightings{latest: map[sectionName]sighting{}, points: map[RecordName]*PointRead{}}
	read := map[RecordName]bool{} // collection and section
	shown := map[RecordName]bool{}
	for _, page := range seen.Pages {
		read[RecordName{page.Collection, page.Section}] = true
		j.outcome(kind, page.Outcome, Finding{Collection: page.Collection, Section: page.Section})
		for _, s := range page.Sections {
			one := sighting{page.Collection, s.Key, page.Section, s.Revision, s.SectionRead}
			all.latest[one.name()] = one
			shown[RecordName{page.Collection, s.Key}] = true
		}
	}
	for i := range seen.Points {
		p := &seen.Points[i]
		name := RecordName{p.Collection, p.Key}
		all.points[name] = p
		if p.Outcome == ReadAbsent {
			if shown[name] {
				j.fail(Finding{Reason: RecordVanished, Collection: p.Collection, Key: p.Key})
			}
			continue // or it is the baseline's to say
		}
		j.outcome(kind, p.Outcome, Finding{Collection: p.Collection, Key: p.Key})
		for _, s := range p.Sections {
			one := sighting{p.Collection, p.Key, s.Section, p.Revision, s.SectionRead}
			if before, twice := all.latest[one.name()]; twice {
				all.inPhase = append(all.inPhase, [2]sighting{before, one})
			}
			all.latest[one.name()] = one
		}
	}
	j.demandRead(kind, asked, read, all.points)
	return all
}

// demandRead holds a recheck to all that it was to read.
func (j *judgement) demandRead(kind ReportKind, asked *reading, pages map[RecordName]bool, points map[RecordName]*PointRead) {
	if kind != RecheckReport {
		return
	}
	for _, c := range asked.Collections {
		for _, section := range c.Sections {
			if !pages[RecordName{c.Name, section}] {
				j.miss(Finding{Reason: NotRead, Collection: c.Name, Section: section})
			}
		}
	}
	for _, name := range asked.Points {
		if points[name] == nil {
			j.miss(Finding{Reason: NotRead, Collection: name.Collection, Key: name.Key})
		}
	}
}

func (j *judgement) outcome(kind ReportKind, outcome string, f Finding) {
	switch outcome {
	case ReadAbsent:
		f.Reason = CollectionVanished
		j.fail(f)
	case ReadWrong:
		f.Reason = BodyWrong
		j.fail(f)
	case ReadUnavailable:
		f.Reason = BodyUnavailable
		j.miss(f)
	case ReadUnanswered:
		if kind == RecheckReport {
			f.Reason = NotAnswered
			j.miss(f)
		}
	}
}

// hold holds what was seen to the baseline: nothing that it named has gone, and
// nothing has changed but by a publication.
func (j *judgement) hold(was, seen *VerificationReport, now *sightings) {
	before := map[sectionName]sighting{}
	var order []sectionName
	add := func(s sighting) {
		if _, twice := before[s.name()]; !twice {
			order = append(order, s.name())
		}
		before[s.name()] = s
	}
	for _, page := range was.Pages {
		for _, s := range page.Sections {
			add(sighting{page.Collection, s.Key, page.Section, s.Revision, s.SectionRead})
		}
	}
	for _, p := range was.Points {
		for _, s := range p.Sections {
			add(sighting{p.Collection, p.Key, s.Section, p.Revision, s.SectionRead})
		}
	}
	gone := map[RecordName]bool{}
	for _, name := range order {
		then := before[name]
		record := RecordName{name.collection, name.key}
		is, found := now.latest[name]
		point := now.points[record]
		switch {
		case found:
			j.Coverage.Compared++
			j.compare(&then, &is)
			j.since(&then, &is)
		case point == nil, gone[record]:
			// Its place on a page may be another one by now: it wasn't read again.
		case point.Outcome == ReadAbsent:
			gone[record] = true
			j.fail(Finding{Reason: RecordVanished, Collection: name.collection, Key: name.key, Was: then.Digest, Revision: then.revision})
		case point.Outcome == ReadSeen:
			j.fail(Finding{Reason: SectionVanished, Collection: name.collection, Key: name.key, Section: name.section, Was: then.Digest, Revision: point.Revision})
		}
	}
}

// compare judges two looks at one section, the earlier first.
func (j *judgement) compare(was, is *sighting) {
	switch {
	case is.revision < was.revision, is.Sequence < was.Sequence:
		j.fail(is.finding(RevisionWentBack, was.Digest))
	case is.Sequence > was.Sequence && is.revision > was.revision:
		// It was published since.
	case is.Sequence > was.Sequence, !is.same(&was.SectionRead):
		j.fail(is.finding(ChangedInPlace, was.Digest))
	}
}

// since counts what was published since the baseline, and tells of what is newer.
func (j *judgement) since(was, is *sighting) {
	switch {
	case is.Sequence <= was.Sequence || is.revision <= was.revision:
	case !is.Live:
		j.Coverage.Tombstones++
	default:
		if j.Coverage.Newer++; len(j.Newer) < maxFindings {
			j.Newer = append(j.Newer, is.finding("published_since", was.Digest))
		}
	}
}

func (s *SectionRead) same(other *SectionRead) bool {
	return s.Live == other.Live && s.Length == other.Length && (s.Digest == nil) == (other.Digest == nil) &&
		(s.Digest == nil || *s.Digest == *other.Digest)
}

// cover counts what was read, of what was to be read.
func (j *judgement) cover(asked *reading, seen *VerificationReport) {
	c := &j.Coverage
	c.OfCollections, c.Records, c.Bodies, c.Bytes = asked.Of, len(seen.records()), seen.Bodies, seen.Bytes
	for _, of := range asked.Collections {
		c.OfPages += len(of.Sections)
	}
	var collections []string
	for _, page := range seen.Pages {
		if page.Outcome == ReadSeen {
			c.Pages++
			collections = append(collections, page.Collection)
		}
	}
	for _, p := range seen.Points {
		if p.Outcome == ReadSeen {
			c.Points++
			collections = append(collections, p.Collection)
		}
	}
	slices.Sort(collections)
	c.Collections = len(slices.Compact(collections))
}
