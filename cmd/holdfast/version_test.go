package main

import (
	"encoding/json"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

func TestVersion_SaysWhatTheBuildKnows(t *testing.T) {
	t.Parallel()
	want := version{
		Build: telemetry.Build(), Go: runtime.Version(),
		ControlSchema: slices.Max(versions(t, postgres.ControlSet)), DataSchema: slices.Max(versions(t, postgres.DataSet)),
		RecordFormats: []int{1, 2}, LeaseRules: 1,
	}
	var got version
	out := execute(t, nil, "version", "--json")
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
		t.Fatalf("%v: %+v", err, out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("version (-want +got):\n%s", diff)
	}
	if got := execute(t, nil, "--version"); got.code != exitOK || got.stdout != "holdfast "+telemetry.Build()+"\n" {
		t.Errorf("--version: %+v", got)
	}
}
