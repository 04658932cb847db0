package telemetry

import "runtime/debug"

// Build names the build that runs: the commit, in full, with "-dirty" behind it
// where files had been changed since. Binaries of one commit have the same name,
// whatever they are of, so that what is planned for a build fits its API, its
// worker and its command line.
//
// Where Go stamped no commit (go test, go run, -buildvcs=false, no repository), it
// is the version of the module that was fetched, and "(devel)" of one that was not:
// such binaries can't be told from each other. Nor can two dirty ones.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)" // built without module support
	}
	return buildOf(info)
}

// buildOf goes by the settings vcs.revision and vcs.modified (debug.BuildSetting).
func buildOf(info *debug.BuildInfo) string {
	var revision, dirty string
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	switch {
	case revision != "":
		return revision + dirty
	case info.Main.Version != "":
		return info.Main.Version
	default:
		return "(devel)"
	}
}
