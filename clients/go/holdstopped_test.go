//go:build unix

package holdfast_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// ServeHTTP answers other processes.
func (w *world) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	response, err := w.Do(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range response.Header {
		to.Header()[name] = values
	}
	to.WriteHeader(response.StatusCode)
	io.Copy(to, response.Body)
}

// stoppedAt is set in the process that this test stops: the address of the world.
const stoppedAt = "HOLDFAST_TEST_STOPPED_AT"

// A real process is stopped in its tracks, and woken up when its term is over. It
// sends nothing more under the lease, whichever of its goroutines runs first.
func TestLease_AProcessThatSleptThroughItsTermSendsNothingMore(t *testing.T) {
	t.Parallel()
	if url := os.Getenv(stoppedAt); url != "" {
		holdUntilStopped(t, url)
		return
	}
	w := newWorld()
	server := httptest.NewServer(w)
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), stoppedAt+"="+server.URL)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "holds" {
		t.Log(lines.Text())
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it isn't stopped: %v, %v", status, err)
	}
	io.WriteString(stdin, "write\n") // it finds that when it wakes up
	time.Sleep(time.Until(w.expiry()))
	renewed, written := w.times("renew"), w.times("journal")
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, rest)
	}
	if w.times("renew") != renewed || w.times("journal") != written || written != 1 {
		t.Errorf("%d renewals and %d appends came behind the term", w.times("renew")-renewed, w.times("journal")-written)
	}
}

// holdUntilStopped writes at once, and again when it is told to.
func holdUntilStopped(t *testing.T, url string) {
	client, err := holdfast.Connect(url, testKey)
	if err != nil {
		t.Fatal(err)
	}
	err = holdfast.Hold(t.Context(), client, testWorld, holdfast.HoldOptions{Term: 5 * time.Second}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		if err := once(ctx, lease); err != nil {
			return err
		}
		fmt.Println("holds")
		bufio.NewReader(os.Stdin).ReadString('\n')
		return once(context.WithoutCancel(ctx), lease)
	})
	if !errors.Is(err, holdfast.ErrNotRenewed) {
		t.Errorf("it ended with %v", err)
	}
}
