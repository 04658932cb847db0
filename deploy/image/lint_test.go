package image

import (
	"context"
	"fmt"
	"testing"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerui"
	"github.com/opencontainers/go-digest"
)

// unfetched answers for base images without asking a registry: nothing that is
// linted depends on what is in them.
type unfetched struct{}

func (unfetched) ResolveImageConfig(_ context.Context, ref string, opt sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	const config = `{"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers"}}`
	return ref, digest.FromString(ref), []byte(config), nil
}

func lint(t *testing.T, text []byte) []string {
	t.Helper()
	source := llb.NewSourceMap(nil, "Dockerfile", "Dockerfile", text)
	source.Definition = &llb.Definition{} // of how an engine would fetch it
	found, err := dockerfile2llb.DockerfileLint(t.Context(), text, dockerfile2llb.ConvertOpt{
		Config:       dockerui.Config{LinterConfig: &linter.Config{ExperimentalAll: true}},
		SourceMap:    source,
		MetaResolver: unfetched{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, w := range found.Warnings {
		said = append(said, fmt.Sprintf("line %d: %s: %s", w.Location.Ranges[0].Start.Line, w.RuleName, w.Detail))
	}
	if found.Error != nil {
		said = append(said, found.Error.Message)
	}
	return said
}

func TestDockerfile_TheEnginesLinterFindsNothing(t *testing.T) {
	t.Parallel()
	for _, said := range lint(t, readFile(t, "Dockerfile")) {
		t.Error(said)
	}
}

func TestDockerfile_TheLinterWouldFindSomething(t *testing.T) {
	t.Parallel()
	said := lint(t, []byte("FROM scratch as base\nENV API_PASSWORD=x\nWORKDIR a\nCMD api $X\nCMD api\n"))
	if len(said) < 5 {
		t.Errorf("it says only %q", said)
	}
}
