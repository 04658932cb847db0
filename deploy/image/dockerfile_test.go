package image

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// root is the repository's, from this package's folder, where tests run.
const root = "../.."

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// stages are the Dockerfile's: the one that builds, and the one that is the image.
func stages(t *testing.T) (build, final instructions.Stage) {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(readFile(t, "Dockerfile")))
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "build" {
		t.Fatalf("the Dockerfile has %d stages; these tests know two, of which the first is named build", len(all))
	}
	return all[0], all[1]
}

// commands are a stage's instructions of one kind, in order.
func commands[C instructions.Command](stage instructions.Stage) (found []C) {
	for _, command := range stage.Commands {
		if c, ok := command.(C); ok {
			found = append(found, c)
		}
	}
	return found
}

// only is the one instruction of its kind that a stage must have.
func only[C instructions.Command](t *testing.T, stage instructions.Stage) C {
	t.Helper()
	found := commands[C](stage)
	if len(found) != 1 {
		t.Fatalf("the last stage has %d instructions of type %T, want one", len(found), *new(C))
	}
	return found[0]
}
