package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpans_CoverEachNumberOnce(t *testing.T) {
	for databases := 1; databases <= numbers; databases++ {
		next := 0
		for _, s := range spans(databases) {
			if s.first != next || s.last < s.first {
				t.Errorf("%d databases: %v doesn't follow %d", databases, s, next-1)
			}
			if size := s.last - s.first + 1; size != numbers/databases && size != numbers/databases+1 {
				t.Errorf("%d databases: %v isn't even", databases, s)
			}
			next = s.last + 1
		}
		if next != numbers {
			t.Errorf("%d databases: they end at %d", databases, next-1)
		}
	}
}

func TestSpan_OfOneNumber_IsThatNumber(t *testing.T) {
	for s, want := range map[span]string{{0, 63}: "0-63", {5, 5}: "5"} {
		if got := s.String(); got != want {
			t.Errorf("%d to %d: %q, want %q", s.first, s.last, got, want)
		}
	}
}

func TestEnvironment_StacksSettingsStandAlone(t *testing.T) {
	caller := []string{"PATH=/bin", "AWS_PROFILE=mine", "AWS_SESSION_TOKEN=mine", "HOLDFAST_OTHER=mine"}
	got := settings{{"AWS_REGION", "here"}}.environment(caller)
	want := []string{"PATH=/bin", "HOLDFAST_OTHER=mine", "AWS_REGION=here"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if caller[1] != "AWS_PROFILE=mine" {
		t.Error("the caller's own environment was changed")
	}
}
