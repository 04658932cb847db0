package main

import (
	"fmt"
	"strings"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// failure tells in one line why a line failed. Parts of it that have codes of
// their own stand in the place of the detail, which would only point at them.
func failure(result holdfast.ImportResult) string {
	text := fmt.Sprintf("line %d", result.Line)
	if result.Key != nil {
		text += fmt.Sprintf(" (%s)", *result.Key)
	}
	e := result.Error
	if e == nil {
		return text + ": " + result.Result
	}
	var at, parts []string
	if e.Errors != nil {
		for _, part := range *e.Errors {
			pointer := part.Pointer
			if pointer == "" { // RFC 6901: all of it
				pointer = "the whole line"
			}
			at = append(at, pointer)
			if part.Code != e.Code {
				parts = append(parts, pointer+": "+part.Code)
			}
		}
	}
	switch {
	case len(parts) > 0:
		return fmt.Sprintf("%s: %s: %s", text, e.Code, strings.Join(parts, ", "))
	case len(at) > 0:
		return fmt.Sprintf("%s: %s at %s: %s", text, e.Code, strings.Join(at, ", "), e.Detail)
	default:
		return fmt.Sprintf("%s: %s: %s", text, e.Code, e.Detail)
	}
}
