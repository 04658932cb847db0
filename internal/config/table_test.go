package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/config"
)

func TestREADME_ListsEveryVariable(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, opened := strings.Cut(string(readme), "<!-- configuration -->\n")
	got, _, closed := strings.Cut(rest, "<!-- /configuration -->\n")
	if !opened || !closed {
		t.Fatal("README.md has no <!-- configuration --> … <!-- /configuration --> section")
	}
	if diff := cmp.Diff(config.Table(), got); diff != "" {
		t.Errorf("the README's table differs from the code's (-code +README); this is the code's:\n%s\n%s", config.Table(), diff)
	}
}
