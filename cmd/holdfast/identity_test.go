package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// importer makes a tenant and gives its id and the environment of a principal of
// it.
func (s *service) importer(t *testing.T, flags ...string) (tenant string, environ []string) {
	t.Helper()
	tenant = told[holdfast.Tenant](t, s, append([]string{"tenant", "create", "acme"}, flags...)...).ID
	principal := told[holdfast.Principal](t, s, "principal", "create", tenant, "importer", "--scopes", "identity:read,identity:write")
	return tenant, s.as(told[holdfast.CreatedAPIKey](t, s, "key", "create", tenant, principal.ID).APIKey)
}

func writeLines(t *testing.T, lines ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "lines")
	must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600)) // without a last end of line
	return file
}

func expectResult(t *testing.T, got result, code int, stdout, stderr string) {
	t.Helper()
	if diff := cmp.Diff(result{code, stdout, stderr}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const (
	adaLine = `{"key": "1", "account": {"handle": "ada", "email": "ada@example.com"}}`
	benLine = `{"key": "2", "account": {"handle": "ben", "email": "ada@example.com"}}`
	tvLine  = `{"key": "1", "device": {"status": "approved", "account_key": "1"}}`
)

func TestIdentity_ATenantIsImportedAndOpened(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	tenant, importer := s.importer(t, "--importing")
	failed := filepath.Join(t.TempDir(), "failed")
	lines := writeLines(t, adaLine, benLine, "", tvLine)
	expectResult(t, execute(t, importer, "identity", "import", lines, "--failed", failed), exitFailed,
		"line 2 (2): email_taken at /account/email: The email address is in use by another account.\n"+
			"line 3: json_malformed: That is not one well-formed JSON value in valid UTF-8.\n"+
			"2 created, 0 there already, 2 failed.\n",
		"holdfast: 2 of 4 lines failed\n")
	left, err := os.ReadFile(failed)
	if want := benLine + "\n\n"; err != nil || string(left) != want {
		t.Errorf("the failed lines are %q, %v, want %q", left, err, want)
	}
	corrected := writeLines(t, strings.ReplaceAll(benLine, "ada@", "ben@"))
	expectResult(t, execute(t, importer, "identity", "import", corrected), exitOK, "1 created, 0 there already, 0 failed.\n", "")

	report := told[holdfast.IdentityReport](t, s, "identity", "report", tenant)
	shown := s.said(t, "identity", "report", tenant)
	for _, row := range []string{"account +active +2", "device +approved +1", "email +2", "VIOLATIONS +0", "OPENABLE +yes", "HASH +" + report.ReportHash} {
		if !regexp.MustCompile(`(?m)^` + row + `$`).MatchString(shown) {
			t.Errorf("no row %q in the report:\n%s", row, shown)
		}
	}
	other := strings.Repeat("0", 64)
	if got := refused(t, s.as(s.operatorKey), exitFailed, "identity", "open", tenant, "--report", other); !strings.Contains(got, "(report_changed, ") {
		t.Errorf("another hash: %s", got)
	}
	if got := told[holdfast.Tenant](t, s, "identity", "open", tenant, "--report", report.ReportHash); got.IdentityState != "open" {
		t.Errorf("opened, the tenant is %+v", got)
	}
	expectResult(t, execute(t, s.installation.Environ(), "identity", "check", tenant), exitOK,
		"TENANT  ACCOUNTS  TOMBSTONES  DEVICES  KEYS  EVENTS  PENDING  RESIDUE  VIOLATIONS\n"+
			"acme    2         0           1        4     3       0        0        0\n", "")
}

func TestIdentityImport_ALargeFile_GoesInBatchesAndFromAnyLine(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	_, importer := s.importer(t)
	var lines []string
	for i := range batchLines + 2 {
		lines = append(lines, fmt.Sprintf(`{"key": "%d", "account": {"handle": "a-%d"}}`, i+1, i+1))
	}
	lines[batchLines] = "{}"
	file := writeLines(t, lines...)
	got := execute(t, importer, "identity", "import", file, "--json")
	var told holdfast.ImportResult
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	must(t, decoder.Decode(&told))
	if told.Line != batchLines+1 || told.Result != "failed" || told.Error == nil {
		t.Errorf("the failed line's result is %+v", told)
	}
	var sum importSum
	must(t, decoder.Decode(&sum))
	if want := (importSum{Created: batchLines + 1, Failed: 1, NextLine: batchLines + 3}); sum != want || got.code != exitFailed {
		t.Errorf("code %d, sum %+v, want %+v", got.code, sum, want)
	}
	expectResult(t, execute(t, importer, "identity", "import", file, "--from-line", fmt.Sprint(batchLines+2)), exitOK,
		"0 created, 1 there already, 0 failed.\n", "")
	expectResult(t, execute(t, importer, "identity", "import", file, "--from-line", fmt.Sprint(batchLines+4)), exitFailed,
		"", "holdfast: there are only 1002 lines\n")
}

func TestIdentityImport_BrokenOff_SaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant, importer := s.importer(t)
	s.said(t, "tenant", "suspend", tenant)
	must(t, s.tokens.Poll(t.Context()))
	file := writeLines(t, adaLine, benLine, tvLine)
	got := execute(t, importer, "identity", "import", file, "--from-line", "2")
	if want := regexp.MustCompile(`^holdfast: .*\(tenant_suspended, request .*\)\nNo line has a result yet: begin again with --from-line 2\n$`); got.code != exitFailed || !want.MatchString(got.stderr) {
		t.Errorf("%+v", got)
	}
	got = execute(t, importer, "identity", "import", file, "--json")
	if diff := cmp.Diff(`{"created":0,"exists":0,"failed":0,"next_line":1}`+"\n", got.stdout); diff != "" {
		t.Errorf("the sum of what broke off (-want +got):\n%s", diff)
	}
	expectResult(t, execute(t, importer, "identity", "import", file, "--from-line", "0"), exitUsage, "",
		"holdfast: --from-line 0: lines count from 1\n")
	if got := refused(t, importer, exitFailed, "identity", "import", file+"-not"); !strings.Contains(got, "no such file") {
		t.Errorf("a file that isn't there: %s", got)
	}
}

func TestIdentityCheck_NamesWhatItFindsInWhichTenant(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	tenant, importer := s.importer(t)
	sound := told[holdfast.Tenant](t, s, "tenant", "create", "sound").ID
	s.said(t, "tenant", "suspend", sound)
	execute(t, importer, "identity", "import", writeLines(t, adaLine))
	environ := s.installation.Environ()
	const heads = "TENANT  ACCOUNTS  TOMBSTONES  DEVICES  KEYS  EVENTS  PENDING  RESIDUE  VIOLATIONS\n"
	expectResult(t, execute(t, environ, "identity", "check"), exitOK, heads+
		"acme    1         0           0        2     1       0        0        0\n"+
		"sound   0         0           0        0     0       0        0        0\n", "")

	for _, database := range []string{"data1", "data2"} {
		_, err := s.installation.Admin(t, database).Exec(t.Context(), `DELETE FROM claims WHERE key = 'ada@example.com'`)
		must(t, err)
	}
	for _, args := range [][]string{{"identity", "check"}, {"identity", "check", tenant}} {
		got := execute(t, environ, args...)
		want := regexp.MustCompile(`^\nacme:\nkey_unclaimed in identity-v1/email/\d\d on data[12], record [0-9a-f-]{36}\n  The account has a key here .*\n\nTENANT .*\nacme .* 1\n`)
		if got.code != exitDiffers || !want.MatchString(got.stdout) || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	got := execute(t, environ, "identity", "check", "--json")
	var objects []map[string]any
	for decoder := json.NewDecoder(strings.NewReader(got.stdout)); decoder.More(); {
		var object map[string]any
		must(t, decoder.Decode(&object))
		objects = append(objects, object)
	}
	if len(objects) != 3 || objects[0]["violation"].(map[string]any)["kind"] != "key_unclaimed" || objects[0]["tenant_id"] != tenant ||
		objects[1]["census"].(map[string]any)["violations"] != 1.0 || objects[2]["name"] != "sound" || got.code != exitDiffers {
		t.Errorf("with --json: %+v", got)
	}
	expectResult(t, execute(t, environ, "identity", "check", sound), exitOK, heads+
		"sound   0         0           0        0     0       0        0        0\n", "")
}

func TestIdentityCheck_RefusesWhatItCantJudge(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	environ := s.installation.Environ()
	const nobody = "01930000-0000-7000-8000-000000000000"
	for name, c := range map[string]struct {
		environ []string
		args    string
		code    int
		says    string
	}{
		"a tenant that isn't there":       {environ, "identity check " + nobody, exitFailed, "holdfast: There is no tenant of that id. (tenant_not_found)\n"},
		"a name for an id":                {environ, "identity check acme", exitUsage, `TENANT "acme" is not an id`},
		"no password":                     {append(environ, "HOLDFAST_API_PASSWORD="), "identity check", exitUsage, "HOLDFAST_API_PASSWORD: is required"},
		"numbers that are somewhere else": {append(environ, "HOLDFAST_PLACEMENT=data1=0-40 data2=41-63"), "identity check", exitUsage, "the configuration is wrong:\nthe placement disagrees"},
		"an import without a key":         {nil, "identity import -", exitUsage, "for identity import and token that of a tenant's principal"},
		"a report without a tenant":       {s.as(s.operatorKey), "identity report", exitUsage, "usage: holdfast identity report TENANT"},
		"an opening without a report":     {s.as(s.operatorKey), "identity open " + nobody, exitUsage, `required flag(s) "report" not set`},
		"a report of nobody":              {s.as(s.operatorKey), "identity report " + nobody, exitFailed, "(tenant_not_found, "},
	} {
		if got := refused(t, c.environ, c.code, strings.Fields(c.args)...); !strings.Contains(got, c.says) {
			t.Errorf("%s: it says\n%s\nwant %s", name, got, c.says)
		}
	}
}

func TestIdentityReport_ThatIsNotOpenable_EndsWithItsOwnCode(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant, importer := s.importer(t)
	execute(t, importer, "identity", "import", writeLines(t, adaLine))
	_, err := s.installation.Admin(t, "data1").Exec(t.Context(), `DELETE FROM claims`)
	must(t, err)
	got := execute(t, s.as(s.operatorKey), "identity", "report", tenant)
	if got.code != exitDiffers || !strings.Contains(got.stdout, "no: violations\n") || strings.Count(got.stdout, "\nkey_unclaimed in identity-v1/") != 2 {
		t.Errorf("%+v", got)
	}
}

func TestProgress_IsForATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	elsewhere := newProgress(&out)
	elsewhere.show("%d lines", 7)
	elsewhere.clear()
	if out.Len() > 0 {
		t.Errorf("elsewhere it shows %q", out.String())
	}
	p := &progress{out: &out, terminal: true}
	p.show("%s%d lines", bar(1, 3), 10)
	p.show("9")
	p.clear()
	p.clear()
	const want = "\r[######..............] 33 % 10 lines\r9                                   \r \r"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := bar(5, 0); got != "" {
		t.Errorf("of nobody knows how much: %q", got)
	}
}
