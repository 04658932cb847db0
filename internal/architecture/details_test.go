package architecture

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestEveryDetail_IsASentence: what callers read of an error begins with a
// capital letter and ends with a full stop. Of a text that is put together, its
// ends are looked at as far as the source has them.
func TestEveryDetail_IsASentence(t *testing.T) {
	t.Parallel()
	all := details(t)
	if len(all) < 150 {
		t.Fatalf("found only %d details", len(all))
	}
	for _, d := range all {
		if first, _ := utf8.DecodeRuneInString(d.begins); d.begins != "" && !unicode.IsUpper(first) {
			t.Errorf("%s: %q begins in lower case", d.place, d.begins)
		}
		if d.ends != "" && !strings.HasSuffix(d.ends, ".") {
			t.Errorf("%s: %q has no full stop", d.place, d.ends)
		}
	}
}

// detail is the text of an error for callers: its beginning and its end, the
// same text where it is one, and "" where only a run knows it.
type detail struct {
	place        string // package/file:line
	begins, ends string
}

// details reads every detail of the production code below internal/.
func details(t *testing.T) (found []detail) {
	t.Helper()
	for _, p := range productionPackages(t) {
		info := p.check(false)
		for _, source := range p.sources {
			ast.Inspect(source, func(n ast.Node) bool {
				text := detailOf(n)
				if text == nil {
					return true
				}
				place := p.files.Position(text.Pos())
				begins, ends := knownEnds(info, text)
				found = append(found, detail{fmt.Sprintf("%s:%d", place.Filename, place.Line), begins, ends})
				return true
			})
		}
	}
	return found
}

// constructors take a code and then the detail.
var constructors = []string{
	"Invalid", "Unauthenticated", "Forbidden", "NotFound", "Conflict", "PreconditionFailed", "PreconditionRequired",
	"Gone", "TooLarge", "Limited", "Unavailable", "OutcomeUnknown", // of package domain
	"malformed", "unauthenticated", // of the edge
}

// detailOf gives the expression of the detail that n makes an error with, or nil.
func detailOf(n ast.Node) ast.Expr {
	switch n := n.(type) {
	case *ast.CallExpr:
		if slices.Contains(constructors, lastName(n.Fun)) && len(n.Args) >= 2 {
			return n.Args[1]
		}
	case *ast.CompositeLit:
		refusal := lastName(n.Type) == "GrantError"
		for i, element := range n.Elts {
			pair, keyed := element.(*ast.KeyValueExpr)
			switch {
			case !keyed && refusal && i == 1:
				return element
			case !keyed:
			case lastName(pair.Key) == "detail", lastName(pair.Key) == "Detail", refusal && lastName(pair.Key) == "Description":
				return pair.Value
			}
		}
	}
	return nil
}

// lastName is the name without the package's.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// knownEnds gives what a text begins and ends with: of a sum, of its first and
// its last term; of a Sprintf, of its format.
func knownEnds(info *types.Info, text ast.Expr) (begins, ends string) {
	if value := info.Types[text].Value; value != nil && value.Kind() == constant.String {
		return constant.StringVal(value), constant.StringVal(value)
	}
	switch e := text.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			begins, _ = knownEnds(info, e.X)
			_, ends = knownEnds(info, e.Y)
		}
	case *ast.CallExpr:
		if lastName(e.Fun) != "Sprintf" {
			break
		}
		begins, ends = knownEnds(info, e.Args[0])
		if strings.HasPrefix(begins, "%") {
			begins = ""
		}
		if strings.HasSuffix(ends, "%s") {
			ends = ""
		}
	}
	return begins, ends
}
