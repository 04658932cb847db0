package httpapi

import (
	"errors"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// schemaCodes gives each keyword of a schema the code of what breaks it.
var schemaCodes = map[string]string{
	"type":          "wrong_type",
	"nullable":      "null_not_allowed",
	"required":      "required",
	"properties":    "unknown_field",
	"enum":          "not_one_of",
	"format":        "wrong_format",
	"pattern":       "wrong_format",
	"minLength":     "too_short",
	"maxLength":     "too_long",
	"minimum":       "too_small",
	"maximum":       "too_large",
	"minItems":      "too_few",
	"maxItems":      "too_many",
	"minProperties": "too_few",
	"maxProperties": "too_many",
	"uniqueItems":   "repeated",
}

// schemaFields turns what the validator found, below the place that pointer
// names, into field errors. Its own messages quote schemas and values.
func schemaFields(pointer string, err error) []domain.Field {
	f := faults{pointer: pointer, known: map[string]bool{}}
	f.add(err)
	return f.fields
}

// faults are the field errors of one value.
type faults struct {
	pointer string // of the value
	fields  []domain.Field
	known   map[string]bool // objects whose unknown members are among the fields
}

func (f *faults) add(err error) {
	var several openapi3.MultiError
	if errors.As(err, &several) {
		for _, one := range several {
			f.add(one)
		}
		return
	}
	var broken *openapi3.SchemaError
	if !errors.As(err, &broken) {
		f.fields = append(f.fields, domain.Field{Pointer: f.pointer, Code: "wrong_format"}) // a parameter that isn't of its type
		return
	}
	code := schemaCodes[broken.SchemaField]
	if code == "" {
		code = "invalid"
	}
	place := f.pointer + joinPointer(broken.JSONPointer())
	switch {
	case code == "unknown_field":
		f.addUnknown(place, broken)
		return
	case onlyMiscounts(broken):
		return
	}
	f.fields = append(f.fields, domain.Field{Pointer: place, Code: code})
}

// addUnknown names the members of an object that its schema doesn't. The
// validator points at the object, once for each of them, and once must be enough:
// there may be a hundred thousand.
func (f *faults) addUnknown(object string, broken *openapi3.SchemaError) {
	if f.known[object] {
		return
	}
	f.known[object] = true
	members, _ := broken.Value.(map[string]any)
	for name := range members {
		if broken.Schema.Properties[name] == nil {
			f.fields = append(f.fields, domain.Field{Pointer: object + joinPointer([]string{name}), Code: "unknown_field"})
		}
	}
}

// onlyMiscounts tells an object that has too many or too few members by nothing
// but those whose own fault is told: what its schema doesn't know, and what it
// demands and misses.
func onlyMiscounts(broken *openapi3.SchemaError) bool {
	members, _ := broken.Value.(map[string]any)
	schema := broken.Schema
	meant := 0
	for name := range schema.Properties {
		if _, given := members[name]; given || slices.Contains(schema.Required, name) {
			meant++
		}
	}
	switch broken.SchemaField {
	case "minProperties":
		return uint64(meant) >= schema.MinProps
	case "maxProperties":
		return uint64(meant) <= *schema.MaxProps
	default:
		return false
	}
}

// refusedFields lists the members that the schema names only to refuse them, with
// the code that its extension gives. A handler refuses them when nothing
// else is wrong.
func refusedFields(schema *openapi3.Schema, value any) []domain.Field {
	members, _ := value.(map[string]any)
	var fields []domain.Field
	for name := range members {
		member := schema.Properties[name]
		if member == nil || member.Value == nil {
			continue
		}
		if code, refused := member.Value.Extensions[extensionRefused].(string); refused {
			fields = append(fields, domain.Field{Pointer: joinPointer([]string{name}), Code: code})
		}
	}
	return fields
}

// joinPointer spells a path as RFC 6901 does.
func joinPointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(pointerEscapes.Replace(echoed(name)))
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
