package image

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

// binaries are what the image is for.
var binaries = []string{"api", "holdfast", "worker"}

// Folders of the build stage.
const (
	sourceFolder = "/src"
	outputFolder = "/out/"
)

// build runs the commands of the Dockerfile's first stage as they stand, in the
// repository and with a folder of the test's in place of /out/, which it gives.
func build(t *testing.T) (output string) {
	t.Helper()
	stage, _ := stages(t)
	output = t.TempDir() + "/"
	environ := append(os.Environ(), "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)
	for _, env := range commands[*instructions.EnvCommand](stage) {
		for _, pair := range env.Env {
			environ = append(environ, pair.Key+"="+pair.Value)
		}
	}
	if dir := commands[*instructions.WorkdirCommand](stage); len(dir) != 1 || dir[0].Path != sourceFolder {
		t.Fatalf("the build's folder is %v, want %s", dir, sourceFolder)
	}
	for _, run := range commands[*instructions.RunCommand](stage) {
		line := strings.Join(run.CmdLine, " ")
		command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, outputFolder, output))
		command.Dir, command.Env = root, environ
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	return output
}

// layOut makes a folder that has what the image's last stage copies, and nothing
// else. Who is not root may only read it.
func layOut(t *testing.T, output string) (image string) {
	t.Helper()
	_, final := stages(t)
	image = t.TempDir()
	for _, c := range commands[*instructions.CopyCommand](final) {
		for _, source := range c.SourcePaths {
			from := filepath.Join(root, source)
			switch {
			case c.From == "build" && strings.HasPrefix(source, outputFolder):
				from = filepath.Join(output, strings.TrimPrefix(source, outputFolder))
			case c.From == "build":
				from = source // of the base image, and most likely of this machine
			}
			place(t, from, filepath.Join(image, c.DestPath), strings.HasSuffix(c.DestPath, "/"))
		}
	}
	return image
}

// place copies as COPY does: of a folder what is in it, and of a file the file
// itself, into a destination that ends with a slash.
func place(t *testing.T, from, to string, into bool) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatalf("the image copies what isn't there: %v", err)
	}
	if !info.IsDir() {
		if into {
			to = filepath.Join(to, filepath.Base(from))
		}
		copyFile(t, from, to, info.Mode().Perm())
		return
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		place(t, filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()), false)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, content, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantStatic fails the test unless the file needs no other to run, and names the
// commit that it is of.
func wantStatic(t *testing.T, file string) {
	t.Helper()
	program, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if needed, err := program.ImportedLibraries(); err != nil || len(needed) > 0 {
		t.Errorf("%s needs %q, %v", file, needed, err)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Errorf("%s needs a loader", file)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || len(settings["vcs.revision"]) < 40 {
		t.Errorf("%s is built with %v", file, settings)
	}
}
