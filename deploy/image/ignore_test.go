package image

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

func matcher(t *testing.T) *patternmatcher.PatternMatcher {
	t.Helper()
	patterns, err := ignorefile.ReadAll(bytes.NewReader(readFile(t, ".dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	m, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Git would find what is left out deleted, and Go would stamp a build "-dirty".
func TestContext_LacksNothingThatIsCheckedIn(t *testing.T) {
	t.Parallel()
	git := exec.Command("git", "ls-files", "-z")
	git.Dir = root
	listed, err := git.Output()
	if err != nil {
		t.Fatal(err)
	}
	m := matcher(t)
	files := strings.Split(strings.TrimSuffix(string(listed), "\x00"), "\x00")
	for _, file := range append(files, ".git/HEAD") {
		ignored, err := m.MatchesOrParentMatches(file)
		if err != nil || ignored {
			t.Errorf("%s is left out, %v", file, err)
		}
	}
	if len(files) < 100 {
		t.Errorf("git lists %d files only", len(files))
	}
}

func TestContext_LeavesOutWhatMachinesMake(t *testing.T) {
	t.Parallel()
	m := matcher(t)
	for _, file := range []string{"bin/api", ".holdfast/dev/secrets.json", "clients/typescript/node_modules/x/y.js", "deploy/terraform/.terraform/providers/x"} {
		if ignored, err := m.MatchesOrParentMatches(file); err != nil || !ignored {
			t.Errorf("%s goes along, %v", file, err)
		}
	}
}
