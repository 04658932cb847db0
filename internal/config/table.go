package config

import (
	"fmt"
	"strings"
)

// standard are variables that others read, and that pass through untouched.
const standard = "| `OTEL_…` | api, worker | the standard's | Where traces, metrics and logs go: the variables of the OpenTelemetry SDK |\n"

// Table is the documentation of all variables, as a Markdown table.
func Table() string {
	var table strings.Builder
	table.WriteString("| variable | read by | default | meaning |\n|---|---|---|---|\n")
	for field := range fields() {
		var readers []string
		for _, process := range field.readBy {
			readers = append(readers, string(process))
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n",
			field.name, strings.Join(readers, ", "), code(field.fallback), code(field.help))
	}
	table.WriteString(standard)
	return table.String()
}

// code writes what stands in double quotes as Markdown code.
func code(text string) string { return strings.ReplaceAll(text, `"`, "`") }
