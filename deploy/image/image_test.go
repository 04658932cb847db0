package image

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// rehearsal is the image, laid out, and what is to be run of it.
type rehearsal struct {
	image    string // a folder
	services types.Services
}

// TestImage_ServesWithNothingButWhatIsInIt goes through what an engine does with
// compose.yaml: it builds the image, makes the schema, starts the API and the worker,
// asks their health, and stops them.
func TestImage_ServesWithNothingButWhatIsInIt(t *testing.T) {
	t.Parallel()
	if os.Getenv("HOLDFAST_CONTROL_URL") == "" {
		t.Fatal("HOLDFAST_CONTROL_URL is not set: run make image")
	}
	r := rehearsal{image: layOut(t, build(t)), services: project(t).Services}
	for _, name := range binaries {
		wantStatic(t, filepath.Join(r.image, "usr/local/bin", name))
	}
	r.versionsAgree(t)

	schema := r.environOf("schema")
	for _, line := range [][]string{{"/usr/local/bin/holdfast", "schema", "floor"}, r.services["schema"].Command} {
		if said, code := r.finish(t, schema, line...); code != 0 {
			t.Fatalf("%q exits with %d:\n%s", line, code, said)
		}
	}
	// Which ports are free is this machine's affair.
	api := r.start(t, r.environOf("api", "HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_METRICS_ADDRESS="), "/usr/local/bin/api")
	worker := r.start(t, r.environOf("worker", "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0"), r.services["worker"].Command...)
	r.wantHealthy(t, "api", "http://127.0.0.1:8080", api.await(t, "The API listens on "))
	var ready struct{ Address string }
	if err := json.Unmarshal([]byte(`{"msg":"ready"`+worker.await(t, `"msg":"ready"`)), &ready); err != nil {
		t.Fatal(err)
	}
	r.wantHealthy(t, "worker", "http://127.0.0.1:9091", "http://"+ready.Address)
	api.stop(t)
	worker.stop(t)
}

// wantHealthy runs a service's health check, at the address that it really has.
func (r rehearsal) wantHealthy(t *testing.T, service, usual, address string) {
	t.Helper()
	check := append([]string{}, r.services[service].HealthCheck.Test[1:]...)
	last := len(check) - 1
	if !strings.HasPrefix(check[last], usual+"/") {
		t.Fatalf("%s is asked at %s, not at %s", service, check[last], usual)
	}
	check[last] = strings.Replace(check[last], usual, address, 1)
	if said, code := r.finish(t, nil, check...); code != 0 {
		t.Errorf("%s isn't well: %d %s", service, code, said)
	}
	check[last] = address + "/nowhere"
	if said, code := r.finish(t, nil, check...); code == 0 {
		t.Errorf("%s is well at %s: %s", service, check[last], said)
	}
}

// versionsAgree holds all binaries to be of one build.
func (r rehearsal) versionsAgree(t *testing.T) {
	t.Helper()
	builds := map[string]bool{}
	for _, name := range binaries {
		said, code := r.finish(t, nil, "/usr/local/bin/"+name, "--version")
		of, build, _ := strings.Cut(strings.TrimSpace(said), " ")
		if code != 0 || of != name || len(build) < 40 {
			t.Errorf("%s --version says %q and exits with %d", name, said, code)
		}
		builds[build] = true
	}
	if len(builds) != 1 {
		t.Errorf("the binaries are of several builds: %v", builds)
	}
}
