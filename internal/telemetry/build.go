package telemetry

import (
	"context"
	"runtime"
	"runtime/debug"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

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

// tellBuild reports the build as a metric that is always 1, so that a graph can
// show when which build came.
func tellBuild(meters metric.MeterProvider, version string) error {
	labels := metric.WithAttributeSet(attribute.NewSet(
		attribute.String("version", version), attribute.String("go.version", runtime.Version())))
	_, err := meters.Meter("github.com/holdfast-dev/holdfast/internal/telemetry").Int64ObservableGauge("holdfast.build.info",
		metric.WithDescription("Always 1; its labels name the build that runs."),
		metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
			to.Observe(1, labels)
			return nil
		}))
	return err
}
