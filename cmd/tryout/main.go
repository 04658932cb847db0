// Command tryout runs the examples of the clients against a stack of its own, as a
// tenant's programmer would: with the API's address and a key. It exits 0 only if each
// of them does.
//
// make clients builds all that it needs, and runs it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "tryout:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := start(ctx)
	if err != nil {
		return err
	}
	defer s.stop()
	examples := filepath.Join(filepath.Dir(self), "examples")
	for _, e := range []example{
		{name: "Go: accounts", command: []string{filepath.Join(examples, "example")}},
		{name: "Go: a directory and its feed", command: []string{filepath.Join(examples, "directory")}},
		{name: "Go: records", command: []string{filepath.Join(examples, "records")}},
		{name: "Go: a world that is held", command: []string{filepath.Join(examples, "hold")}},
		{name: "Go: a device that logs in", command: []string{filepath.Join(examples, "device")}, line: s.approve},
		{name: "TypeScript: all of it", command: []string{"node", "clients/typescript/build/example/tour.js"}},
	} {
		if err := e.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// longest is how long an example may take.
const longest = time.Minute

// example is a program that a tenant's programmer would begin with.
type example struct {
	name    string
	command []string
	line    func(context.Context, string) error // looks at each line that it prints
}

// run runs the example and shows what it prints.
func (e example) run(ctx context.Context, s *stack) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	fmt.Printf("\n-- %s\n", e.name)
	began := time.Now()
	command := exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	command.Env = append(os.Environ(), "HOLDFAST_URL="+s.url, "HOLDFAST_API_KEY="+s.key, "WORLD="+s.world, "CLIENT_ID="+s.publicClient)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	failed := e.follow(ctx, stdout)
	if err := command.Wait(); err != nil {
		return errors.Join(fmt.Errorf("%w\n%s", err, complaints.String()), failed)
	}
	fmt.Printf("   %.1f s\n", time.Since(began).Seconds())
	return failed
}

// follow shows the lines that come, to their end.
func (e example) follow(ctx context.Context, lines io.Reader) (failed error) {
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		fmt.Println("  ", scanner.Text())
		if e.line != nil && failed == nil {
			failed = e.line(ctx, scanner.Text())
		}
	}
	return failed
}

var userCode = regexp.MustCompile(` and type (\S+)$`)

// approve does what the user of a device does, where they are signed in to the
// application.
func (s *stack) approve(ctx context.Context, line string) error {
	code := userCode.FindStringSubmatch(line)
	if code == nil {
		return nil
	}
	handle := "user-" + strings.ToLower(code[1])
	account, err := s.tenant.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: handle})
	if err != nil {
		return err
	}
	_, err = s.tenant.ApproveDeviceWithResponse(ctx, holdfast.CodeGuess{UserCode: code[1], AccountID: account.JSON201.ID})
	return err
}
