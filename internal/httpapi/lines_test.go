package httpapi

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// Whatever the pieces in which a body comes, its lines are the same, each within
// its limit or known to be beyond it.
func TestLines_AreTheBodysLinesHoweverItComes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const longest = 20 // more than the least that a bufio.Reader has
		given := rapid.SliceOfN(rapid.StringMatching(`[a-c ]{0,50}`), 1, 20).Draw(t, "lines")
		body := strings.Join(given, "\n")
		if rapid.Bool().Draw(t, "ended") {
			body += "\n"
		}
		if strings.HasSuffix("\n"+body, "\n") {
			given = given[:strings.Count(body, "\n")] // nothing stands behind the last end
		}
		reader := io.Reader(strings.NewReader(body))
		if rapid.Bool().Draw(t, "byte by byte") {
			reader = iotest.OneByteReader(reader)
		}
		l := lines{ctx: t.Context(), reader: bufio.NewReaderSize(reader, longest+1), limits: lineLimits{most: len(given), bytes: longest}}
		for i, want := range given {
			got, err := l.text()
			switch {
			case err != nil:
				t.Fatalf("line %d of %q: %v", i+1, body, err)
			case (got == nil) != (len(want) > longest), got != nil && string(got) != want:
				t.Fatalf("line %d of %q is %q", i+1, body, got)
			}
		}
		if got, err := l.text(); !errors.Is(err, io.EOF) {
			t.Fatalf("behind the last of %q: %q, %v", body, got, err)
		}
	})
}
