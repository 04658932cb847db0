package image

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// project is compose.yaml as an engine understands it, with nothing set in its
// environment.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "compose.yaml")}, cli.WithDiscardEnvFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ours are the services that run the image, and whom the README's table of
// variables calls what.
var ours = map[string]string{"api": "api", "worker": "worker", "schema": "schema"}

func TestCompose_HasTheWholeProduct(t *testing.T) {
	t.Parallel()
	p := project(t)
	if names := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(names, []string{"api", "objects", "postgres", "schema", "worker"}) {
		t.Errorf("its services are %q", names)
	}
	for name := range ours {
		if build := p.Services[name].Build; build == nil || filepath.Clean(build.Context) != filepath.Dir(p.ComposeFiles[0]) {
			t.Errorf("%s isn't of this repository's image", name)
		}
	}
}

var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?[0-9]+(\.[0-9]+)+[a-z0-9.-]*(@sha256:[0-9a-f]{64})?$`)

func TestCompose_OthersImagesAreOfOneVersion(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		if ours[name] == "" && !pinned.MatchString(service.Image) {
			t.Errorf("%s is of %s, which may be another tomorrow", name, service.Image)
		}
	}
}

func TestCompose_WhatStaysHasAHealthCheck(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		check := service.HealthCheck
		if name == "schema" {
			if service.Restart != "no" {
				t.Errorf("the schema's container is started again: %s", service.Restart)
			}
			continue
		}
		if check == nil || check.Disable || len(check.Test) < 2 || check.Test[0] != "CMD" {
			t.Errorf("%s has no health check, or one that needs a shell", name)
		}
	}
}

func TestCompose_NothingListensBeyondTheMachine(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
			}
		}
		if service.NetworkMode != "" {
			t.Errorf("%s is on the network %s", name, service.NetworkMode)
		}
	}
}

func TestCompose_TheSchemaIsMadeFirst_AndByNobodyElse(t *testing.T) {
	t.Parallel()
	services := project(t).Services
	for name := range ours {
		if slices.Contains(services[name].Command, "schema") != (name == "schema") {
			t.Errorf("%s runs %q", name, services[name].Command)
		}
		if name == "schema" {
			continue
		}
		if on := services[name].DependsOn["schema"]; on.Condition != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("%s doesn't wait for the schema: %q", name, on.Condition)
		}
		if services[name].Environment["HOLDFAST_OWNER_PASSWORD"] != nil {
			t.Errorf("%s has the owner's password", name)
		}
	}
}

func TestCompose_OursMayDoNothingSpecial(t *testing.T) {
	t.Parallel()
	services := project(t).Services
	for name := range ours {
		s := services[name]
		if !s.ReadOnly || s.Privileged || s.User != "" || !slices.Contains(s.CapDrop, "ALL") || len(s.CapAdd) > 0 ||
			!slices.Contains(s.SecurityOpt, "no-new-privileges:true") || len(s.Volumes) > 0 {
			t.Errorf("%s may write, or do more than the image's user: %+v", name, s)
		}
	}
}

// The README's table is held to what the processes read by a test of theirs.
func TestCompose_SetsOnlyWhatEachProcessReads(t *testing.T) {
	t.Parallel()
	readers := map[string][]string{}
	for line := range strings.Lines(string(readFile(t, "README.md"))) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			readers[strings.Trim(cells[1], " `")] = strings.Split(strings.ReplaceAll(cells[2], " ", ""), ",")
		}
	}
	if !slices.Contains(readers["HOLDFAST_API_PASSWORD"], "api") {
		t.Fatal("the README's table can't be read")
	}
	services := project(t).Services
	for name, process := range ours {
		for variable := range services[name].Environment {
			if !slices.Contains(readers[variable], process) {
				t.Errorf("%s is given %s, which it doesn't read", name, variable)
			}
		}
	}
}

// Whatever is a secret may be given by the environment, so that nobody has to write
// one into the file.
func TestCompose_SecretsComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`^\s*([A-Z_]*(PASSWORD|SECRET|KEYS?|KEY_ID)[A-Z_]*): *(.*)$`)
	found := 0
	for line := range strings.Lines(string(readFile(t, "compose.yaml"))) {
		parts := secret.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if parts == nil {
			continue
		}
		found++
		if !strings.HasPrefix(parts[3], "${HOLDFAST_") {
			t.Errorf("%s has its value in the file", parts[1])
		}
	}
	if found < 10 {
		t.Errorf("only %d secrets are found", found)
	}
}
