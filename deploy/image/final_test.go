package image

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

func TestImage_HasNothingButWhatItRuns(t *testing.T) {
	t.Parallel()
	build, final := stages(t)
	if final.BaseName != "scratch" {
		t.Errorf("it is built on %s", final.BaseName)
	}
	if runs := commands[*instructions.RunCommand](final); len(runs) > 0 {
		t.Errorf("its last stage runs %s: there is nothing to run it with", runs)
	}
	for _, adds := range commands[*instructions.AddCommand](build) {
		t.Errorf("it fetches %v: what it has must be in the repository, or in its base", adds.SourcePaths)
	}
	if name, version, _ := strings.Cut(build.BaseName, ":"); name != "golang" || !strings.HasPrefix(version, goVersion(t)+"-") {
		t.Errorf("it is built with %s, and go.mod wants %s", build.BaseName, goVersion(t))
	}
}

// goVersion is the one that go.mod names.
func goVersion(t *testing.T) string {
	t.Helper()
	for line := range strings.Lines(string(readFile(t, "go.mod"))) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "go "); ok {
			return version
		}
	}
	t.Fatal("go.mod names no version of Go")
	return ""
}

func TestImage_RunsAsNobody(t *testing.T) {
	t.Parallel()
	if uid, gid := userOf(t); uid == 0 || gid == 0 {
		t.Errorf("it runs as %d:%d", uid, gid)
	}
}

// userOf is the image's user and group, which must be numbers: without a file of
// users there are no names, and who runs it can't tell that a name isn't root's.
func userOf(t *testing.T) (uid, gid uint32) {
	t.Helper()
	_, final := stages(t)
	user, group, _ := strings.Cut(only[*instructions.UserCommand](t, final).User, ":")
	u, err := strconv.ParseUint(user, 10, 32)
	if err != nil {
		t.Fatalf("its user is %q", user)
	}
	g, err := strconv.ParseUint(group, 10, 32)
	if err != nil {
		t.Fatalf("its group is %q", group)
	}
	return uint32(u), uint32(g)
}

func TestImage_StartsAndIsProbedWithoutAShell(t *testing.T) {
	t.Parallel()
	_, final := stages(t)
	command := only[*instructions.CmdCommand](t, final)
	if command.PrependShell || !slices.Equal(command.CmdLine, []string{"/usr/local/bin/api"}) {
		t.Errorf("it starts %q", command.CmdLine)
	}
	check := only[*instructions.HealthCheckCommand](t, final).Health
	want := []string{"CMD", "/usr/local/bin/holdfast", "probe", "http://127.0.0.1:8080/livez"}
	if !slices.Equal(check.Test, want) {
		t.Errorf("its health is %q, want %q", check.Test, want)
	}
}
