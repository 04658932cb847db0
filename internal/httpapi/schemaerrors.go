package httpapi

import (
	"errors"
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
	var several openapi3.MultiError
	if errors.As(err, &several) {
		var fields []domain.Field
		for _, one := range several {
			fields = append(fields, schemaFields(pointer, one)...)
		}
		return fields
	}
	var broken *openapi3.SchemaError
	if !errors.As(err, &broken) {
		return []domain.Field{{Pointer: pointer, Code: "wrong_format"}} // a parameter that isn't of its type
	}
	code := schemaCodes[broken.SchemaField]
	if code == "" {
		code = "invalid"
	}
	path := broken.JSONPointer()
	if code == "unknown_field" {
		return unknownFields(pointer+joinPointer(path), broken)
	}
	return []domain.Field{{Pointer: pointer + joinPointer(path), Code: code}}
}

// unknownFields names the members that the schema doesn't: the validator points
// at their object only.
func unknownFields(object string, broken *openapi3.SchemaError) []domain.Field {
	members, _ := broken.Value.(map[string]any)
	var fields []domain.Field
	for name := range members {
		if broken.Schema.Properties[name] == nil {
			fields = append(fields, domain.Field{Pointer: object + joinPointer([]string{name}), Code: "unknown_field"})
		}
	}
	return fields
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
