package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// qualified are what the control database has of qualifications: whether each
// passed, by its hash.
func qualified(t *testing.T, in *testkit.Installation) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	rows, err := in.Admin(t, "control").Query(t.Context(), `SELECT encode(report_hash, 'hex'), passed FROM qualifications`)
	must(t, err)
	for rows.Next() {
		var hash string
		var passed bool
		must(t, rows.Scan(&hash, &passed))
		found[hash] = passed
	}
	must(t, rows.Err())
	return found
}

func TestQualify_PrintsAndKeepsWhatItSaw(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	store := testkit.OwnBucket(t)
	environ := slices.Concat(in.Environ(), testkit.BodiesEnviron(store))
	file := filepath.Join(t.TempDir(), "report.json")
	got := execute(t, environ, "qualify", "--out", file)
	last := regexp.MustCompile(`\n\n` + regexp.QuoteMeta(telemetry.Build()) + ` is qualified for 2 databases and the bucket .*\.\nThe report's hash is ([0-9a-f]{64})\n$`)
	hash := last.FindStringSubmatch(got.stdout)
	if got.code != exitOK || got.stderr != "" || hash == nil || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, "\nok  ") < 15 {
		t.Fatalf("%+v", got)
	}
	text, err := os.ReadFile(file)
	must(t, err)
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != hash[1] {
		t.Errorf("the file isn't what the hash is of: %s", text)
	}
	var report migration.Qualification
	must(t, json.Unmarshal(text, &report))
	if diff := cmp.Diff([]string{"holdfast qualify --out=" + file}, report.Commands); diff != "" || report.Build != telemetry.Build() {
		t.Errorf("build %s; commands (-want +got)\n%s", report.Build, diff)
	}

	testkit.SetLifecycle(t, store, testkit.ExpireBelow("tenants/"))
	failed := execute(t, environ, "qualify", "--json")
	var told struct {
		Hash   migration.Hash
		Report migration.Qualification
	}
	must(t, json.Unmarshal([]byte(failed.stdout), &told))
	if failed.code != exitDiffers || failed.stderr != "" || told.Report.Passed {
		t.Errorf("with a rule that deletes bodies: %+v", failed)
	}
	failed = execute(t, environ, "qualify")
	if failed.code != exitDiffers || !strings.Contains(failed.stdout, "\nFAIL  no lifecycle rule") || !strings.Contains(failed.stdout, " is NOT qualified ") {
		t.Errorf("with a rule that deletes bodies: %+v", failed)
	}
	kept := qualified(t, in)
	if again, there := kept[told.Hash.String()]; len(kept) != 3 || !kept[hash[1]] || again || !there {
		t.Errorf("kept are %v", kept)
	}
}

func TestQualify_NeedsAStore(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	expectResult(t, execute(t, in.Environ(), "qualify"), exitUsage, "",
		"holdfast: there is no object store to qualify for: name it by HOLDFAST_BODIES_ENDPOINT and what goes with it\n")
	if kept := qualified(t, in); len(kept) != 0 {
		t.Errorf("kept are %v", kept)
	}
}

func TestQualify_WithoutItsBucket_BeginsNothing(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 1)
	store := testkit.BodyStore(t)
	store.Bucket = "nobody-made-this"
	got := execute(t, slices.Concat(in.Environ(), testkit.BodiesEnviron(store)), "qualify")
	if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, `nothing was begun`) || !strings.Contains(got.stderr, `"nobody-made-this"`) {
		t.Errorf("%+v", got)
	}
	if reports := qualified(t, in); len(reports) > 0 {
		t.Errorf("it kept %v", reports)
	}
}
