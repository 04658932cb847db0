package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestQualification_IsListedAndShown(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET /v1/qualifications", holdfast.Qualifications{Qualifications: []holdfast.QualificationSummary{{ReportHash: aPlan, Build: "v2", Passed: true, QualifiedAt: someTime}}})
	list := "HASH" + strings.Repeat(" ", 62) + "BUILD  PASSED  QUALIFIED\n" + aPlan + "  v2     yes     2026-11-30T12:00:00Z\n"
	if diff := cmp.Diff(result{exitOK, list, ""}, execute(t, s.environ, "qualification", "list"), cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("qualification list (-want +got):\n%s", diff)
	}
	q := holdfast.Qualification{ReportHash: aPlan, Text: `{"type":"x"}`, Report: holdfast.QualificationReport{Build: "v2", Passed: true,
		Observations: []holdfast.QualifiedPromise{{Promise: "create-only", Passed: true, Detail: "as promised"}}}}
	s.on("GET /v1/qualifications/"+aPlan, q)
	if got := execute(t, s.environ, "qualification", "show", aPlan); got.code != exitOK || !strings.Contains(got.stdout, "create-only  yes   as promised\n") {
		t.Errorf("qualification show: %+v", got)
	}
	if got := execute(t, s.environ, "qualification", "show", aPlan, "--text"); got.stdout != `{"type":"x"}` {
		t.Errorf("qualification show --text: %+v", got)
	}
	q.Report.Passed = false
	s.on("GET /v1/qualifications/"+aPlan, q)
	if got := execute(t, s.environ, "qualification", "show", aPlan); got.code != exitDiffers {
		t.Errorf("of a broken promise: %+v", got)
	}
	if got := refused(t, s.environ, exitUsage, "qualification", "show", "../tenants"); !strings.Contains(got, "is not the hash of anything") {
		t.Errorf("of no hash: %s", got)
	}
}
