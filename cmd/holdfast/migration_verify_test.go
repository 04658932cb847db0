package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// scriptedVerification begins a verification of one page, and judges it.
func scriptedVerification(t *testing.T, state string, verdict holdfast.VerificationVerdict) *scripted {
	t.Helper()
	s := newScripted(t)
	s.on("GET "+thisMigration, inState(state))
	s.on("POST "+thisMigration+"/verify", holdfast.Verification{
		Report:      holdfast.MigrationReport{ReportID: aReport, Kind: "recheck", PlanHash: aPlan},
		Limits:      holdfast.ReadLimits{PageRecords: 32, Points: 8, Attempts: 1, RequestSeconds: 5, PhaseSeconds: 600, ResponseBytes: 1 << 20},
		Collections: []holdfast.ReadCollection{{Collection: "orders", Sections: []string{"items"}}},
		Points:      []holdfast.RecordName{}, CoveredCollections: 1, Token: holdfast.Token{AccessToken: "short-lived", TokenType: "Bearer"},
	})
	s.on("GET /v1/collections/orders/export", holdfast.ExportPage{Records: []holdfast.ExportedSection{}})
	s.on("PUT "+thisMigration+"/verifications/"+aReport, verdict)
	s.on("GET "+thisMigration+"/reports/"+aReport, holdfast.MigrationReport{ReportID: aReport, Kind: "recheck", PlanHash: aPlan, EndedAt: &someTime, Verdict: &verdict})
	return s
}

func aVerdict(outcome, state string) holdfast.VerificationVerdict {
	return holdfast.VerificationVerdict{
		Outcome: outcome, State: state, Findings: []holdfast.VerificationFinding{}, Newer: []holdfast.VerificationFinding{}, Missing: []holdfast.VerificationFinding{}, Limits: []string{},
		Coverage: holdfast.VerificationCoverage{Collections: 1, OfCollections: 3, Pages: 2, OfPages: 6, Points: 5, Records: 7, Bodies: 9, Bytes: 2048, Compared: 8, Newer: 2, Tombstones: 1},
	}
}

func TestMigrationVerify_SaysWhatItCovered_AndClaimsNoMore(t *testing.T) {
	t.Parallel()
	failed := aVerdict("failed", "stopped")
	failed.Wrong = 1
	failed.Findings = []holdfast.VerificationFinding{{Reason: "digest_changed", Collection: new("orders"), Key: new("o-1"), Section: new("items"), Was: &aPlan, Is: &anotherOf}}
	incomplete := aVerdict("incomplete", "drained")
	incomplete.Limits = []string{"phase"}
	incomplete.Missing = []holdfast.VerificationFinding{{Reason: "unanswered", Collection: new("orders")}}
	const covered = "Read: 1 of 3 collections, 2 of 6 pages, 5 records by key; 7 different records, 9 bodies of 2.0 KiB.\n" +
		"Held against the baseline: 8 sections, of which 2 published since and 1 deleted since.\n"
	const noMore = "It says so of what it read, and proves nothing of the rest.\n"
	for _, c := range []struct {
		verdict holdfast.VerificationVerdict
		code    int
		want    string
	}{
		{aVerdict("passed", "verified"), exitOK, "The recheck passed. The migration is verified.\n" + covered + noMore},
		{failed, exitDiffers, "The recheck FAILED. The migration is stopped.\n" + covered + "Wrong: 1, the first of it:\n" +
			"  digest_changed: collection \"orders\", record \"o-1\", section \"items\", digest " + anotherOf + ", was " + aPlan + "\n" + noMore},
		{incomplete, exitLater, "The recheck is incomplete: not all of the sample could be read, and nothing has changed. The migration is drained.\n" + covered +
			"Limits that were reached: phase.\nWhat keeps it from being complete, the first of it:\n  unanswered: collection \"orders\"\n" + noMore},
	} {
		s := scriptedVerification(t, "drained", c.verdict)
		got := execute(t, s.environ, "migration", "verify", aTenant, aMigration, "--phase", "recheck", "--execute")
		if diff := cmp.Diff(result{c.code, c.want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.verdict.Outcome, diff)
		}
		all := s.wasAsked()
		if len(all) != 2 || all[0] != (asked{thisMigration + "/verify", `{"phase":"recheck","plan_hash":"` + aPlan + `"}`}) || all[1].Route != thisMigration+"/verifications/"+aReport {
			t.Fatalf("the API was asked for %v", all)
		}
		var report holdfast.VerificationReport
		must(t, json.Unmarshal([]byte(all[1].Body), &report))
		if len(report.Pages) != 1 || report.Pages[0].Outcome != holdfast.ReadSeen || report.Requests != 1 {
			t.Errorf("it handed in %+v", report)
		}
	}
}

func TestMigrationVerify_WithoutExecute_ReadsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase, state string
		code         int
		says         string
	}{
		{"baseline", "previewed", exitOK, "What is seen would be kept"},
		{"baseline", "drained", exitDiffers, "for a migration that is previewed or approved."},
		{"recheck", "drained", exitOK, "held against the baseline"},
		{"recheck", "approved", exitDiffers, "for a migration that is drained or verified."},
	} {
		s := scriptedVerification(t, c.state, aVerdict("passed", c.state))
		got := execute(t, s.environ, "migration", "verify", aTenant, aMigration, "--phase", c.phase)
		if got.code != c.code || !strings.Contains(got.stdout, c.says) || s.wasAsked() != nil {
			t.Errorf("%s of one that is %s: %+v", c.phase, c.state, got)
		}
	}
}

func TestMigrationScrub_WatchTellsWhatItCoveredAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*holdfast.ScrubProgress)
		code   int
		says   string
	}{
		"all":         {func(s *holdfast.ScrubProgress) { s.Covered = true }, exitOK, "The scrub came to the end: it covered every body"},
		"spent":       {func(s *holdfast.ScrubProgress) { s.Spent = new("bodies") }, exitLater, "before it was through: its budget of bodies was spent. The next one goes on from there."},
		"unreachable": {func(s *holdfast.ScrubProgress) { s.Covered, s.Unreachable = true, 2 }, exitLater, "Not answered for: 2."},
		"corrupt": {func(s *holdfast.ScrubProgress) {
			s.Covered, s.Corrupt = true, 1
			s.FirstWrong = []holdfast.ScrubFinding{{Reason: "corrupt", Collection: "orders", Key: "o-1", Section: "items", Digest: aPlan, Length: 5}}
		}, exitDiffers, "\n  corrupt: collection \"orders\", record \"o-1\", section \"items\", digest " + aPlan + ", 5 bytes\n"},
	} {
		s := scriptedActs(t, "drained")
		progress := holdfast.ScrubProgress{Counted: true, OfBodies: 10, OfBytes: 2048, Bodies: 5, Bytes: 1024, FirstWrong: []holdfast.ScrubFinding{}, FirstUnreached: []holdfast.ScrubFinding{}}
		going := holdfast.MigrationReport{ReportID: aReport, Kind: "scrub", Scrub: new(progress)}
		ended := going
		ended.Scrub, ended.EndedAt = new(progress), &someTime
		c.change(ended.Scrub)
		s.on("GET "+thisMigration+"/reports/"+aReport, going, going, ended)
		got := execute(t, s.environ, "migration", "scrub", aTenant, aMigration, "--execute", "--watch", "--every", "1ms")
		if got.code != c.code || !strings.Contains(got.stdout, c.says) ||
			got.stderr != "5 of 10 bodies, 1.0 KiB of 2.0 KiB read, 0 corrupt, 0 missing, 0 not answered for\n" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
