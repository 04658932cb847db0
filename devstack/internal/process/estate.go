package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// patience is how long the guardian waits for a child to end by itself.
const patience = 10 * time.Second

// Guard is the guardian's whole life: it takes orders until its ward dismisses
// it or dies, and in the latter case carries them out.
func Guard(orders io.Reader) error {
	var left estate
	lines := bufio.NewScanner(orders)
	for lines.Scan() {
		if lines.Text() == "dismiss" {
			return nil
		}
		if err := left.note(lines.Text()); err != nil {
			return fmt.Errorf("order %q: %w", lines.Text(), err)
		}
	}
	return left.settle()
}

// estate is what a dead stack left, in the order in which it came.
type estate struct {
	children []orphan
	folders  []string
}

type orphan struct {
	pid int
	end syscall.Signal
}

// note takes one order: "end PID SIGNAL", "forget PID" or "remove FOLDER".
func (e *estate) note(order string) error {
	verb, what, _ := strings.Cut(order, " ")
	switch verb {
	case "end":
		var o orphan
		_, err := fmt.Sscanf(what, "%d %d", &o.pid, &o.end)
		e.children = append(e.children, o)
		return err
	case "forget":
		var pid int
		_, err := fmt.Sscanf(what, "%d", &pid)
		e.children = slices.DeleteFunc(e.children, func(o orphan) bool { return o.pid == pid })
		return err
	case "remove":
		var folder string
		_, err := fmt.Sscanf(what, "%q", &folder)
		e.folders = append(e.folders, folder)
		return err
	default:
		return fmt.Errorf("unknown")
	}
}

// settle ends the children, the last one first, for it may be the client of
// those before, and then removes the folders.
func (e *estate) settle() error {
	for _, o := range slices.Backward(e.children) {
		o.settle()
	}
	for _, folder := range e.folders {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the child. It is no child of the guardian's, so the only way to
// see its end is to look.
func (o orphan) settle() {
	if o.end != syscall.SIGKILL {
		_ = syscall.Kill(o.pid, o.end)
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if syscall.Kill(o.pid, 0) != nil {
				return
			}
		}
	}
	_ = syscall.Kill(-o.pid, syscall.SIGKILL)
}
