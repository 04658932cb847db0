package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestClientExample_RunsAgainstTheAPI(t *testing.T) {
	t.Parallel()
	s := newStack(t, 2)
	r := s.serve(t)
	cmd := exec.Command("go", "run", "../../clients/go/example")
	cmd.Env = append(os.Environ(), "HOLDFAST_URL="+r.url, "HOLDFAST_API_KEY="+s.tenant(t, r, "acme").key)
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "It is disabled now, at revision 3.") {
		t.Errorf("%v\n%s", err, output)
	}
}
