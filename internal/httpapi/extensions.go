package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The document's own extensions. What is misspelled must not pass for absent, so
// New refuses any other that begins like them.
const (
	extensionErrors       = "x-holdfast-errors"          // of an operation: whose form its refusals have
	extensionTimeout      = "x-holdfast-timeout-seconds" // of an operation: how long it may take
	extensionRepeatable   = "x-holdfast-repeatable"      // of an operation: the same request again finds what the first one did
	extensionAudit        = "x-holdfast-audit"           // of an operation: it is an administrative act, though its scope doesn't say so
	extensionHourly       = "x-holdfast-audit-hourly"    // of such a read: it has entries once an hour, of each caller and tenant
	extensionWaits        = "x-holdfast-waits"           // of an operation: it waits for others, and takes no turn of those that work
	extensionMaxBytes     = "x-holdfast-max-bytes"       // of a body: how long it may be
	extensionMaxLines     = "x-holdfast-max-lines"       // of a media type that is a stream of lines: how many they may be,
	extensionMaxLineBytes = "x-holdfast-max-line-bytes"  // and how long each, without its end; its schema is a line's
	extensionRefused      = "x-holdfast-refused"         // of a field that is never accepted: with which code
)

// extensions are those of one object of the document.
type extensions map[string]any

// demandKnown fails when there is one that isn't among the known.
func (e extensions) demandKnown(known ...string) error {
	for name := range e {
		if strings.HasPrefix(name, "x-holdfast-") && !slices.Contains(known, name) {
			return fmt.Errorf("the extension %s is not known here", name)
		}
	}
	return nil
}

// number is a whole number above zero; otherwise without the extension.
func (e extensions) number(name string, otherwise int64) (int64, error) {
	value, given := e[name]
	if !given {
		return otherwise, nil
	}
	n, ok := value.(float64)
	if !ok || n < 1 || n > 1<<40 || n != float64(int64(n)) {
		return 0, fmt.Errorf("%s is not a whole number above zero", name)
	}
	return int64(n), nil
}

// flag is true or false; false without the extension.
func (e extensions) flag(name string) (bool, error) {
	value, given := e[name]
	if !given {
		return false, nil
	}
	set, ok := value.(bool)
	if !ok {
		return false, fmt.Errorf("%s is neither true nor false", name)
	}
	return set, nil
}

// seconds is a duration; 0 without the extension.
func (e extensions) seconds(name string) (time.Duration, error) {
	n, err := e.number(name, 0)
	return time.Duration(n) * time.Second, err
}
