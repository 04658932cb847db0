package telemetry

import (
	"runtime/debug"
	"testing"
)

func TestBuild_IsTheCommitOrElseTheVersion(t *testing.T) {
	t.Parallel()
	const commit = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	stamp := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "-compiler", Value: "gc"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		name, version string
		settings      []debug.BuildSetting
		want          string
	}{
		{"of a commit", "v0.0.0-20261101000000-4b825dc642cb", stamp("false"), commit},
		{"with changes", "v0.0.0-20261101000000-4b825dc642cb+dirty", stamp("true"), commit + "-dirty"},
		{"of a tag", "v1.2.3", stamp("false"), commit},
		{"fetched as a module", "v1.2.3", nil, "v1.2.3"},
		{"without a stamp", "(devel)", nil, "(devel)"},
		{"of a test", "", nil, "(devel)"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings}
		if got := buildOf(info); got != c.want {
			t.Errorf("%s: the build is %q, want %q", c.name, got, c.want)
		}
	}
}
