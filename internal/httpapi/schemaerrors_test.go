package httpapi

import (
	"fmt"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/web"
)

// What is wrong is told once, however often the validator says it: else the cost
// of a body would grow by the square of what is unknown in it.
func TestSchemaFields_AreAsManyAsThereAreFaults(t *testing.T) {
	t.Parallel()
	_, operations, err := loadOperations(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	schema := operations[route{"POST", "/v1/accounts/import"}].body.media[mediaNDJSON].schema
	account := map[string]any{}
	line := map[string]any{"key": "k", "account": account}
	for n := range 1000 {
		account[fmt.Sprint("x", n)] = true
		line[fmt.Sprint("y", n)] = true
	}
	fields := schemaFields("", schema.VisitJSON(line, openapi3.MultiErrors()))
	seen := map[domain.Field]bool{}
	for _, f := range fields {
		if seen[f] {
			t.Fatalf("%v is told twice", f)
		}
		seen[f] = true
	}
	if want := 2000 + 1; len(fields) != want || !seen[domain.Field{Pointer: "/account/handle", Code: "required"}] {
		t.Errorf("%d faults, want %d", len(fields), want)
	}
}
