package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// sourceFolder is the production code of one package.
type sourceFolder struct {
	path    string
	files   *token.FileSet
	sources []*ast.File
}

// productionPackages parses every package below internal/ but the benchmarks,
// whose tables and texts are their own.
func productionPackages(t *testing.T) (all []sourceFolder) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if entry.Name() == "bench" {
			return filepath.SkipDir
		}
		all = append(all, parseFolder(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func parseFolder(t *testing.T, folder string) sourceFolder {
	t.Helper()
	p := sourceFolder{path: folder, files: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := parser.ParseFile(p.files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		p.sources = append(p.sources, source)
	}
	return p
}

// check folds the package's constants. What it can't import doesn't matter.
func (p sourceFolder) check(onlyDeclarations bool) *types.Info {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Error: func(error) {}, IgnoreFuncBodies: onlyDeclarations}
	config.Check(p.path, p.files, p.sources, info)
	return info
}
