package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestDeployments_ShowWhoIsAliveAndWhatTheAPIWorksWith(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET /v1/deployments", holdfast.Deployments{
		Processes: []holdfast.Process{{ProcessID: aRun, Kind: "worker", Build: "v2", RecordFormats: []int{1, 2}, StartedAt: someTime, ReportedAt: someTime}},
		Runtime:   holdfast.Runtime{Build: "v2", Databases: aPacket().Databases},
	})
	want := "PROCESS                               KIND    BUILD  FORMATS  STARTED               REPORTED\n" +
		aRun + "  worker  v2     1,2      2026-11-30T12:00:00Z  2026-11-30T12:00:00Z\n\n" +
		"THE API THAT ANSWERS  build v2\nDATABASES             data1 (cluster 77, database 5, numbers 0-63)\nOBJECT STORE          none\n"
	if diff := cmp.Diff(result{exitOK, want, ""}, execute(t, s.environ, "deployments"), cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
}
