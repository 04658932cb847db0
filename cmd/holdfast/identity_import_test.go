package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentityImport_TheFailedFileIsNeverTheImportedOne(t *testing.T) {
	t.Parallel()
	_, importer := serve(t, "data1").importer(t)
	file := writeLines(t, adaLine, benLine)
	folder := t.TempDir()
	symlink, link := filepath.Join(folder, "symlink"), filepath.Join(folder, "link")
	must(t, os.Symlink(file, symlink))
	must(t, os.Link(file, link))
	for _, failed := range []string{file, symlink, link} {
		for _, from := range []string{"1", "2"} {
			got := refused(t, importer, exitUsage, "identity", "import", file, "--failed", failed, "--from-line", from)
			if !strings.Contains(got, "is the file that is imported: name another\n") {
				t.Errorf("%s from line %s: %s", failed, from, got)
			}
		}
	}
	expectFile(t, file, adaLine+"\n"+benLine)
}

func TestIdentityImport_FailedLinesOfAnEarlierRunAreKept(t *testing.T) {
	t.Parallel()
	_, importer := serve(t, "data1").importer(t)
	file := writeLines(t, "{}", "[]", adaLine, benLine)
	failed := filepath.Join(t.TempDir(), "failed")
	must(t, os.WriteFile(failed, []byte(`{"an": "earlier line"}`), 0o600)) // an editor left out the end
	if got := refused(t, importer, exitUsage, "identity", "import", file, "--failed", failed); !strings.Contains(got, "name another file") {
		t.Errorf("from line 1: %s", got)
	}
	for _, from := range []string{"2", "4"} {
		if got := execute(t, importer, "identity", "import", file, "--failed", failed, "--from-line", from); got.code != exitFailed {
			t.Errorf("from line %s: %+v", from, got)
		}
	}
	expectFile(t, failed, `{"an": "earlier line"}`+"\n[]\n"+benLine+"\n"+benLine+"\n")
}

func expectFile(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	must(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestIdentityImport_ALineTooLongFails_TheOthersGoOn(t *testing.T) {
	t.Parallel()
	_, importer := serve(t, "data1").importer(t)
	long, longer := strings.Repeat("x", longestLine+1), strings.Repeat("y", 3*longestLine)
	file := writeLines(t, adaLine, long, tvLine, longer)
	failed := filepath.Join(t.TempDir(), "failed")
	const why = "line_too_long: The line has more than 1024 KiB, and was not sent.\n"
	expectResult(t, execute(t, importer, "identity", "import", file, "--failed", failed), exitFailed,
		"line 2: "+why+"line 4: "+why+"2 created, 0 there already, 2 failed.\n", "holdfast: 2 of 4 lines failed\n")
	expectFile(t, failed, long+"\n"+longer+"\n")
	expectResult(t, execute(t, importer, "identity", "import", file, "--from-line", "3"), exitFailed,
		"line 4: "+why+"0 created, 1 there already, 1 failed.\n", "holdfast: 1 of 2 lines failed\n")
}

func TestIdentityImport_AFailureNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, importer := serve(t, "data1").importer(t)
	file := writeLines(t, `{"key": "1", "bar": 1, "account": {"handle": "ada"}}`, `{"key": "2"}`)
	got := execute(t, importer, "identity", "import", file)
	want := "line 1 (1): request_invalid: /bar: unknown_field\n" +
		"line 2 (2): request_invalid: the whole line: too_few\n0 created, 0 there already, 2 failed.\n"
	expectResult(t, got, exitFailed, want, "holdfast: 2 of 2 lines failed\n")
}

// It is interrupted while it waits for its input, behind a batch that the API
// has answered.
func TestIdentityImport_Interrupted_SaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	_, importer := serve(t, "data1").importer(t)
	in, out := io.Pipe()
	defer out.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for i := range batchLines {
			fmt.Fprintf(out, `{"key": "%d", "account": {"handle": "a-%d"}}`+"\n", i, i)
		}
		io.WriteString(out, "{") // it is read when the batch before it has its results
		interrupt()
	}()
	root := newRoot(importer)
	root.SetIn(in)
	var stdout, stderr strings.Builder
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs([]string{"identity", "import", "-", "--json"})
	err := root.ExecuteContext(ctx)
	var sum importSum
	must(t, json.Unmarshal([]byte(stdout.String()), &sum))
	if want := (importSum{Created: batchLines, NextLine: batchLines + 1}); sum != want {
		t.Errorf("the sum is %+v, want %+v", sum, want)
	}
	const says = "interrupted\nThe lines before 1001 have their results: go on with --from-line 1001"
	if err == nil || err.Error() != says {
		t.Errorf("it says %v, want %s", err, says)
	}
}
