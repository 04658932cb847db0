package migration

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func live(sequence int64, body string) SectionRead {
	digest := record.DigestOf([]byte(body))
	return SectionRead{sequence, true, &digest, int64(len(body))}
}

func tombstone(sequence int64) SectionRead { return SectionRead{Sequence: sequence} }

// seenReport is a report of one page and two records: "a", which the page shows too,
// and "b", of two sections.
func seenReport() *VerificationReport {
	return &VerificationReport{
		Bodies: 4, Bytes: 4,
		Pages: []PageRead{{Collection: "orders", Section: "items", Outcome: ReadSeen, Sections: []PageSection{{"a", 3, live(7, "x")}}}},
		Points: []PointRead{
			{Collection: "orders", Key: "a", Outcome: ReadSeen, Revision: 3, Sections: []PointSection{{"items", live(7, "x")}}},
			{Collection: "orders", Key: "b", Outcome: ReadSeen, Revision: 5, Sections: []PointSection{{"items", live(9, "y")}, {"plans", live(4, "z")}}},
		},
	}
}

func askedFor() *reading {
	return &reading{
		Collections: []ReadCollection{{"orders", []string{"items"}}}, Of: 1, PageSize: 32,
		Points: []RecordName{{"orders", "a"}, {"orders", "b"}},
	}
}

func TestJudge_ARecheckBesideItsBaseline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*VerificationReport)
		outcome string
		reason  string // the first finding's; of what is missing for an incomplete one
		newer   int
		dead    int
	}{
		"the same": {func(*VerificationReport) {}, VerdictPassed, "", 0, 0},
		"a publication": {func(v *VerificationReport) {
			v.Points[1].Revision, v.Points[1].Sections[0].SectionRead = 6, live(12, "new")
		}, VerdictPassed, "", 1, 0},
		"a publication of others": {func(v *VerificationReport) { v.Points[1].Revision = 6 }, VerdictPassed, "", 0, 0},
		"a newer tombstone": {func(v *VerificationReport) {
			v.Points[1].Revision, v.Points[1].Sections[1].SectionRead = 6, tombstone(12)
		}, VerdictPassed, "", 0, 1},
		"another digest": {func(v *VerificationReport) { v.Points[1].Sections[0].SectionRead = live(9, "z") }, VerdictFailed, ChangedInPlace, 0, 0},
		"another digest, at a newer revision of the record": {
			func(v *VerificationReport) {
				v.Points[1].Revision, v.Points[1].Sections[0].SectionRead = 6, live(9, "z")
			}, VerdictFailed, ChangedInPlace, 0, 0},
		"another length":              {func(v *VerificationReport) { v.Points[1].Sections[0].Length = 2 }, VerdictFailed, ChangedInPlace, 0, 0},
		"a tombstone at its revision": {func(v *VerificationReport) { v.Points[1].Sections[0].SectionRead = tombstone(9) }, VerdictFailed, ChangedInPlace, 0, 0},
		"a sequence without a change": {func(v *VerificationReport) { v.Points[1].Sections[0].Sequence = 12 }, VerdictFailed, ChangedInPlace, 0, 0},
		"an older revision":           {func(v *VerificationReport) { v.Points[1].Revision = 4 }, VerdictFailed, RevisionWentBack, 0, 0},
		"an older sequence":           {func(v *VerificationReport) { v.Points[1].Sections[0].Sequence = 8 }, VerdictFailed, RevisionWentBack, 0, 0},
		"a section that has gone":     {func(v *VerificationReport) { v.Points[1].Sections = v.Points[1].Sections[:1] }, VerdictFailed, SectionVanished, 0, 0},
		"a record that has gone": {func(v *VerificationReport) {
			v.Points[1] = PointRead{Collection: "orders", Key: "b", Outcome: ReadAbsent}
		}, VerdictFailed, RecordVanished, 0, 0},
		"a collection that has gone":   {func(v *VerificationReport) { v.Pages[0].Outcome, v.Pages[0].Sections = ReadAbsent, nil }, VerdictFailed, CollectionVanished, 0, 0},
		"a body that isn't its own":    {func(v *VerificationReport) { v.Points[1].Outcome = ReadWrong }, VerdictFailed, BodyWrong, 0, 0},
		"a page unlike its record":     {func(v *VerificationReport) { v.Points[0].Sections[0].SectionRead = live(7, "q") }, VerdictFailed, ChangedInPlace, 0, 0},
		"a body that can't be had":     {func(v *VerificationReport) { v.Points[1].Outcome = ReadUnavailable }, VerdictIncomplete, BodyUnavailable, 0, 0},
		"no answer":                    {func(v *VerificationReport) { v.Pages[0].Outcome, v.Pages[0].Sections = ReadUnanswered, nil }, VerdictIncomplete, NotAnswered, 0, 0},
		"a record that isn't there":    {func(v *VerificationReport) { v.Points = v.Points[:1] }, VerdictIncomplete, NotRead, 0, 0},
		"a page that isn't there":      {func(v *VerificationReport) { v.Pages = nil }, VerdictIncomplete, NotRead, 0, 0},
		"a place that the feed passed": {func(v *VerificationReport) { v.Pages[0].Sections = nil }, VerdictPassed, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := seenReport()
			test.change(seen)
			if err := seen.check(askedFor()); err != nil {
				t.Fatal(err)
			}
			v := judge(RecheckReport, askedFor(), seenReport(), seen, "")
			reason := ""
			switch {
			case len(v.Findings) > 0:
				reason = v.Findings[0].Reason
			case len(v.Missing) > 0:
				reason = v.Missing[0].Reason
			}
			if v.Outcome != test.outcome || reason != test.reason || v.Coverage.Newer != test.newer || v.Coverage.Tombstones != test.dead {
				t.Errorf("it came to %+v", v)
			}
		})
	}
}

func TestJudge_ABaselineIsWhatItCovered(t *testing.T) {
	t.Parallel()
	asked := askedFor()
	asked.Points = nil
	asked.Collections = append(asked.Collections, ReadCollection{"others", []string{"items"}})
	asked.Of = 5
	seen := seenReport()
	seen.Limits = []string{LimitPhase}
	seen.Pages = append(seen.Pages, PageRead{Collection: "others", Section: "items", Outcome: ReadUnanswered})
	want := Coverage{Collections: 1, OfCollections: 5, Pages: 1, OfPages: 2, Points: 2, Records: 2, Bodies: 4, Bytes: 4}
	v := judge(BaselineReport, asked, nil, seen, "")
	if diff := cmp.Diff(want, v.Coverage); v.Outcome != VerdictPassed || diff != "" {
		t.Errorf("a baseline that reached its limit came to %+v (-want +got)\n%s", v, diff)
	}
	if v := judge(BaselineReport, asked, nil, &VerificationReport{}, ""); v.Outcome != VerdictIncomplete {
		t.Errorf("a baseline of nothing came to %+v", v)
	}
	if v := judge(BaselineReport, asked, nil, seen, "build"); v.Outcome != VerdictIncomplete {
		t.Errorf("with another build it came to %+v", v)
	}
	seen.Points[1].Outcome = ReadUnavailable
	if v := judge(BaselineReport, asked, nil, seen, ""); v.Outcome != VerdictIncomplete {
		t.Errorf("without a body it came to %+v", v)
	}
	seen.Points[1].Outcome = ReadWrong
	if v := judge(BaselineReport, asked, nil, seen, ""); v.Outcome != VerdictFailed {
		t.Errorf("with a wrong body it came to %+v", v)
	}
	if v := judge(BaselineReport, &reading{}, nil, &VerificationReport{}, ""); v.Outcome != VerdictPassed {
		t.Errorf("a tenant without collections came to %+v", v)
	}
}

func TestReport_OfMoreThanWasToBeReadIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*VerificationReport)
		at     string
	}{
		"another collection":     {func(v *VerificationReport) { v.Pages[0].Collection = "others" }, "/pages/0"},
		"another section":        {func(v *VerificationReport) { v.Pages[0].Section = "others" }, "/pages/0"},
		"a page twice":           {func(v *VerificationReport) { v.Pages = append(v.Pages, v.Pages[0]) }, "/pages/1"},
		"a page too long":        {func(v *VerificationReport) { v.Pages[0].Sections = make([]PageSection, 33) }, "/pages/0"},
		"a page out of order":    {func(v *VerificationReport) { v.Pages[0].Sections = slices.Repeat(v.Pages[0].Sections, 2) }, "/pages/0/sections/1"},
		"an unknown outcome":     {func(v *VerificationReport) { v.Pages[0].Outcome = "perhaps" }, "/pages/0/outcome"},
		"a live one, no digest":  {func(v *VerificationReport) { v.Pages[0].Sections[0].Digest = nil }, "/pages/0/sections/0"},
		"a tombstone, with one":  {func(v *VerificationReport) { v.Points[0].Sections[0].Live = false }, "/points/0/sections/0"},
		"a record twice":         {func(v *VerificationReport) { v.Points[1] = v.Points[0] }, "/points/1"},
		"a record elsewhere":     {func(v *VerificationReport) { v.Points[1].Collection = "others" }, "/points/1"},
		"a section twice":        {func(v *VerificationReport) { v.Points[1].Sections[1].Section = "items" }, "/points/1/sections/1"},
		"a section without name": {func(v *VerificationReport) { v.Points[1].Sections[1].Section = "" }, "/points/1/sections/1"},
		"no key":                 {func(v *VerificationReport) { v.Pages[0].Sections[0].Key = "" }, "/pages/0/sections/0"},
		"too many records":       {func(v *VerificationReport) { v.Points = make([]PointRead, 129) }, "/points"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := seenReport()
			test.change(seen)
			err := seen.check(askedFor())
			if domain.CodeOf(err) != "report_invalid" || pointerOf(err) != test.at {
				t.Errorf("it came to %v at %q, want report_invalid at %q", err, pointerOf(err), test.at)
			}
		})
	}
	if err := seenReport().check(askedFor()); err != nil {
		t.Errorf("a good one came to %v", err)
	}
}

func TestSpread_TakesEvenly(t *testing.T) {
	t.Parallel()
	all := make([]int, 1000)
	for i := range all {
		all[i] = i
	}
	some := spread(all, 64)
	for i := range some {
		if want := i * 1000 / 64; some[i] != want {
			t.Fatalf("the %dth is %d, want %d", i, some[i], want)
		}
	}
	if few := spread(all[:10], 64); len(few) != 10 {
		t.Errorf("of ten it took %d", len(few))
	}
}

// pointerOf is where an error points.
func pointerOf(err error) string {
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return ""
	}
	return e.Fields[0].Pointer
}
