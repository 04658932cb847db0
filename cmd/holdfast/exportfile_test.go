package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	exportedTenant = "01a22c53-8200-7c50-9c45-7c971979ca79"
	firstPage      = `{"kind":"tenant","data":{"tenant_id":"` + exportedTenant + `"}}` + "\n" + `{"kind":"cursor","data":{"cursor":"one"}}` + "\n"
	secondPage     = `{"kind":"account","data":{}}` + "\n" + `{"kind":"account","data":{}}` + "\n" + `{"kind":"cursor","data":{"cursor":"two"}}` + "\n"
	lastPage       = `{"kind":"end","data":{}}` + "\n"
	wholeExport    = firstPage + secondPage + lastPage
)

// The stream, and then the file, is cut off at every byte. The next stream goes on
// behind the last cursor that the file has whole, and the file is as an undisturbed one.
func TestExportFile_CutOffAnywhere_GoesOnBehindTheLastCursor(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for cut := range len(wholeExport) {
		path := filepath.Join(directory, "export.ndjson")
		if err := os.WriteFile(path, []byte(wholeExport[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openExport(path, exportedTenant)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		rest, cursor, lines := wholeExport, "", int64(0)
		switch {
		case cut >= len(firstPage+secondPage):
			rest, cursor, lines = lastPage, "two", 5
		case cut >= len(firstPage):
			rest, cursor, lines = secondPage+lastPage, "one", 2
		}
		if deref(file.cursor) != cursor || file.lines != lines || file.ended {
			t.Errorf("cut at %d it goes on from %q with %d lines", cut, deref(file.cursor), file.lines)
		}
		if err := file.take(strings.NewReader(rest), func() {}); err != nil || !file.ended || file.lines != 6 {
			t.Errorf("cut at %d: %v with %d lines", cut, err, file.lines)
		}
		file.close()
		if got, err := os.ReadFile(path); err != nil || string(got) != wholeExport {
			t.Errorf("cut at %d the file is %q, %v", cut, got, err)
		}
	}
}

func TestExportFile_RefusesWhatIsNotThisTenantsExport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "export.ndjson")
	if err := os.WriteFile(path, []byte(wholeExport), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openExport(path, "01a22c53-8200-7c50-9c45-7c971979ca78"); !errors.Is(err, errOthersExport) {
		t.Errorf("another tenant's: %v", err)
	}
	if err := os.WriteFile(path, []byte("my notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openExport(path, exportedTenant); err == nil || !strings.Contains(err.Error(), "is not an export") {
		t.Errorf("notes: %v", err)
	}
	if kept, _ := os.ReadFile(path); string(kept) != "my notes\n" {
		t.Errorf("the notes are %q", kept)
	}
}
