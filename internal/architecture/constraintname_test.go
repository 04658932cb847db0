package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestErrors_AreToldApartByTheirState: the names of constraints are empty on Citus,
// and so may decide nothing.
func TestErrors_AreToldApartByTheirState(t *testing.T) {
	t.Parallel()
	for _, p := range productionPackages(t) {
		for _, source := range p.sources {
			for _, at := range constraintNames(source) {
				t.Errorf("%s asks an error for its constraint's name", p.files.Position(at))
			}
		}
	}
}

func constraintNames(source *ast.File) (all []token.Pos) {
	ast.Inspect(source, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "ConstraintName" {
			all = append(all, s.Pos())
		}
		return true
	})
	return all
}

func TestConstraintNames_AreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`if pg.ConstraintName == "accounts_pkey" { return }`: 1,
		`if pg.Code == "23505" { return }`:                   0,
	} {
		source, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {"+text+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(constraintNames(source)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
