package telemetry

import "runtime/debug"

// Build names the build that runs: the module's version, which holds the commit
// and whether anything was changed since; "(devel)" where Go stamped none.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
