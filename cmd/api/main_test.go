package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// An argument that is passed over may have been meant for something.
func TestMain_RefusesArgumentsBesidesVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"serve"}, {"--version", "--json"}} {
		command := exec.Command(os.Args[0], args...)
		command.Env = []string{runAsAPI + "=1"}
		said, err := command.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitSetting || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "no argument but --version") {
			t.Errorf("%v: %v %s", args, err, said)
		}
	}
}
