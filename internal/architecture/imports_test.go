package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/holdfast-dev/holdfast"

func TestImports_FollowTheRules(t *testing.T) {
	t.Parallel()
	packages := productionImports(t, "../..")
	for _, must := range []string{"internal/domain", "internal/domain/identity", "internal/httpapi", "internal/jobs", "internal/postgres"} {
		if len(packages[must]) == 0 {
			t.Errorf("%s was not found, or imports nothing: the test doesn't see the code", must)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		for _, fault := range faults(pkg, packages[pkg]) {
			t.Error(fault)
		}
	}
}

// productionImports reads what each package of the module imports outside of
// its tests, on every platform, by the package's folder. This module's own
// packages come without its path.
func productionImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	packages := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(root, path, entry.Name())
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		imports, err := importsOf(path)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(folder)
		packages[pkg] = append(packages[pkg], imports...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, imports := range packages {
		slices.Sort(imports)
		packages[pkg] = slices.Compact(imports)
	}
	return packages
}

// skipFolder leaves out what is not of this module: other modules below it, and
// what the go command ignores.
func skipFolder(root, path, name string) error {
	if path == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	if err == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return filepath.SkipDir
	}
	return nil
}

func importsOf(path string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imports = append(imports, strings.TrimPrefix(imported, module+"/"))
	}
	return imports, nil
}

// The rules must be able to refuse: each case is a fault that somebody could
// make, or what looks like one and is not.
func TestFaults(t *testing.T) {
	t.Parallel()
	const (
		echo  = "github.com/labstack/echo/v4"
		river = "github.com/riverqueue/river"
		s3    = "github.com/aws/aws-sdk-go-v2/service/s3"
		pgx   = "github.com/jackc/pgx/v5"
	)
	tests := []struct {
		pkg, imports string
		refused      bool
	}{
		{"internal/domain", "crypto/sha256", false},
		{"internal/domain", pgx, true},
		{"internal/domain", "internal/postgres", true},
		{"internal/domain", "golang.org/x/text/unicode/norm", true},

		{"internal/domain/identity", pgx, false},
		{"internal/domain/identity", "github.com/jackc/pgx/v5/pgxpool", false},
		{"internal/domain/identity", "internal/tenancy", false},
		{"internal/domain/identity", "golang.org/x/text/secure/precis", false},
		{"internal/domain/identity", "go.opentelemetry.io/otel/trace", false},
		{"internal/domain/identity", "go.opentelemetry.io/otel/sdk/trace", true},
		{"internal/domain/identity", "internal/domain/lease", true},
		{"internal/domain/identity", "internal/telemetry", true},
		{"internal/domain/identity", "internal/httpapi", true},
		{"internal/domain/identity", echo, true},
		{"internal/domain/identity", river, true},
		{"internal/domain/identity/claimsmodel", "internal/domain/identity", false},

		{"internal/domain/record", "internal/domain/lease", false},
		{"internal/domain/lease", "internal/domain/record", true},
		{"internal/domain/migration", "internal/domain/record", false},
		{"internal/domain/migration", "internal/domain/lease", true},
		{"internal/domain/record", s3, true},
		{"internal/domain/record", "internal/objectstore", true},

		{"internal/httpapi", echo, false},
		{"internal/httpapi", "github.com/labstack/echo/v4/middleware", false},
		{"internal/httpapi", "internal/jobs", true},
		{"internal/httpapi", "internal/config", true},
		{"internal/httpapi", river, true},
		{"internal/jobs", river, false},
		{"internal/jobs", "internal/httpapi", true},
		{"internal/jobs", echo, true},
		{"internal/jobs/riverschema", "github.com/riverqueue/river/rivermigrate", false},
		{"internal/jobs/riverschema", "internal/domain/identity", true},

		{"internal/tenancy", "internal/domain/identity", true},
		{"internal/postgres", "internal/tenancy", true},
		{"internal/postgres", river, true},
		{"internal/objectstore", s3, false},
		{"internal/config", "internal/tenancy", true},

		{"internal/qualify", "internal/domain/migration", false},
		{"internal/qualify", "internal/objectstore/conformance", false},
		{"internal/qualify", "internal/objectstore", true},
		{"internal/objectstore/conformance", "internal/domain", false},
		{"internal/objectstore/conformance", "internal/tenancy", true},

		{"cmd/api", echo, false},
		{"cmd/api", river, false},
		{"cmd/api", s3, true},
		{"cmd/worker", echo, true},
		{"cmd/worker", "internal/jobs", false},
		{"cmd/holdfast", "internal/bench", false},
		{"cmd/api", "internal/bench", true},
		{"cmd/api", "internal/testkit", true},
		{"cmd/api", "testing", true},
		{"cmd/api", "devstack/internal/objects", true},
		{"internal/bench", echo, false},
		{"internal/bench", s3, false},

		{"cmd/demo", "clients/go", false},
		{"cmd/demo", "log/slog", false},
		{"cmd/demo", "internal/launch", false},
		{"internal/httpapi", "internal/launch", true},
		{"cmd/worker", "internal/launch", true},
		{"cmd/demo", "internal/domain", true},
		{"cmd/demo", pgx, false},
		{"cmd/demo", echo, true},
		{"clients/go", "internal/domain", true},
		{"clients/go", "github.com/oapi-codegen/runtime", false},
		{"clients/go", pgx, true},
		{"clients/go/example", "clients/go", false},

		{"internal/testkit", "testing", false},
		{"internal/testkit", "internal/jobs", true},
		{"internal/testkit", s3, false},
		{"internal/unheard-of", "fmt", true},
		{"internal/domainlike", "fmt", true},
	}
	for _, test := range tests {
		found := faults(test.pkg, []string{test.imports})
		if refused := len(found) > 0; refused != test.refused {
			t.Errorf("%s importing %s: refused %t (%q), want %t", test.pkg, test.imports, refused, found, test.refused)
		}
	}
}

func TestProductionImports_ReadsTheModule(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module " + module,
		"a/a.go":            "package a\nimport (\n\"fmt\"\n_ \"" + module + "/b\"\n)",
		"a/a_other.go":      "//go:build plan9\n\npackage a\nimport \"os\"\nimport \"fmt\"",
		"a/a_test.go":       "package a\nimport \"testing\"",
		"a/testdata/x.go":   "package x\nimport \"os\"",
		"other/go.mod":      "module other",
		"other/x/x.go":      "package x\nimport \"os\"",
		".hidden/h.go":      "package h\nimport \"os\"",
		"node_modules/n.go": "package n\nimport \"os\"",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{"a": {"b", "fmt", "os"}}
	if diff := cmp.Diff(want, productionImports(t, root)); diff != "" {
		t.Errorf("imports (-want +got):\n%s", diff)
	}
}
