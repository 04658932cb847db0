package image

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds what a process may take to start, or to end.
const patience = 60 * time.Second

// container is a service of compose.yaml without an engine: a process of the image
// with what the service sets, but for where the stack beside the test has its
// servers.
type container struct {
	command *exec.Cmd
	lines   chan string // of both outputs; closed at their end
}

// command is one of the image's, to be run with the image as its root, as its user,
// and with nothing in its environment but environ. Only root can change its root;
// for others it is run where it lies.
func (r rehearsal) command(t *testing.T, environ []string, line ...string) *exec.Cmd {
	t.Helper()
	path := line[0]
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() == 0 {
		uid, gid := userOf(t)
		attributes.Chroot = r.image
		attributes.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	} else {
		path = filepath.Join(r.image, path)
	}
	command := exec.Command(path, line[1:]...)
	command.Dir, command.Env, command.SysProcAttr = "/", environ, attributes
	return command
}

// finish runs a command of the image to its end, and gives what it said.
func (r rehearsal) finish(t *testing.T, environ []string, line ...string) (said string, code int) {
	t.Helper()
	var out bytes.Buffer
	command := r.command(t, environ, line...)
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), command.ProcessState.ExitCode()
}

// start starts a service until the test ends.
func (r rehearsal) start(t *testing.T, environ []string, line ...string) *container {
	t.Helper()
	c := &container{command: r.command(t, environ, line...), lines: make(chan string, 1000)}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.command.Stdout, c.command.Stderr = in, in
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		_ = c.command.Process.Kill()
		_ = c.command.Wait()
		_ = out.Close()
	})
	return c
}

// await gives what follows the text in the first line that has it.
func (c *container) await(t *testing.T, text string) (rest string) {
	t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	var said []string
	for {
		select {
		case line, ok := <-c.lines:
			if _, after, found := strings.Cut(line, text); found {
				return after
			}
			said = append(said, line)
			if !ok {
				t.Fatalf("it ended without %q:\n%s", text, strings.Join(said, "\n"))
			}
		case <-late.C:
			t.Fatalf("it doesn't come to %q:\n%s", text, strings.Join(said, "\n"))
		}
	}
}

// stop ends it as an engine does, and wants it to end well.
func (c *container) stop(t *testing.T) {
	t.Helper()
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range c.lines {
		said = append(said, line)
	}
	if err := c.command.Wait(); err != nil {
		t.Errorf("it stopped with %v:\n%s", err, strings.Join(said, "\n"))
	}
}

// environOf is what compose.yaml sets for a service, with the stack's own values of
// what depends on where things are, and the further settings.
func (r rehearsal) environOf(service string, further ...string) []string {
	var environ []string
	for name, value := range r.services[service].Environment {
		if strings.Contains(name, "_URL") || strings.Contains(name, "PASSWORD") ||
			strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "HOLDFAST_BODIES_") {
			continue
		}
		environ = append(environ, name+"="+*value)
	}
	for _, name := range []string{"HOLDFAST_CONTROL_URL", "HOLDFAST_DATA_URLS", "HOLDFAST_PLACEMENT",
		"HOLDFAST_BODIES_ENDPOINT", "HOLDFAST_BODIES_BUCKET", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		environ = append(environ, name+"="+os.Getenv(name))
	}
	for name := range r.services[service].Environment {
		if strings.Contains(name, "PASSWORD") {
			environ = append(environ, name+"="+os.Getenv(name))
		}
	}
	return slices.Concat(environ, further) // of two entries the later one counts
}
