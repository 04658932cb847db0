package launch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTailKeepsTheLastLinesAndPassesAllOn(t *testing.T) {
	var log strings.Builder
	kept := &tail{log: &log}
	var want []string
	for i := range 3 * tailLines {
		line := fmt.Sprintf("line %d", i)
		fmt.Fprintln(kept, line)
		want = append(want, line)
	}
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", log.String()); diff != "" {
		t.Errorf("passed on (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(strings.Join(want[2*tailLines:], "\n"), kept.String()); diff != "" {
		t.Errorf("kept (-want +got)\n%s", diff)
	}
}

func TestTailIsBoundedInBytes(t *testing.T) {
	var log strings.Builder
	kept := &tail{log: &log}
	fmt.Fprint(kept, strings.Repeat("ü", tailBytes))
	fmt.Fprint(kept, "x") // now it begins inside a character
	if got, want := kept.String(), strings.Repeat("ü", tailBytes/2-1)+"x"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if log.Len() != 2*tailBytes+1 {
		t.Errorf("passed on %d bytes", log.Len())
	}
}
