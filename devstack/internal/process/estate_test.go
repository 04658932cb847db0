package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestGuard_WardDies_WhatIsLeftIsEnded(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	killed, asked, forgotten := sleeper(t), sleeper(t), sleeper(t)
	orders := &strings.Builder{}
	g := &Guardian{pipe: writeCloser{orders}}
	for _, err := range []error{
		g.Remove(folder),
		g.End(killed.Process.Pid, syscall.SIGKILL),
		g.End(forgotten.Process.Pid, syscall.SIGKILL),
		g.End(asked.Process.Pid, syscall.SIGQUIT),
		g.Forget(forgotten.Process.Pid),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan *exec.Cmd, 2)
	for _, cmd := range []*exec.Cmd{killed, asked} {
		go func() { _ = cmd.Wait(); ended <- cmd }()
	}
	if err := Guard(strings.NewReader(orders.String())); err != nil {
		t.Fatal(err)
	}
	<-ended
	<-ended
	for cmd, want := range map[*exec.Cmd]syscall.Signal{killed: syscall.SIGKILL, asked: syscall.SIGQUIT} {
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != want {
			t.Errorf("ended by %v, want %v", got, want)
		}
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := forgotten.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("what was to be forgotten has ended: %v", err)
	}
}

func TestGuard_Dismissed_DoesNothing(t *testing.T) {
	folder := t.TempDir()
	if err := Guard(strings.NewReader("remove \"" + folder + "\"\ndismiss\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
}

func TestGuard_UnknownOrder_IsRefused(t *testing.T) {
	for _, order := range []string{"dance", "end x 9", "forget", "remove it"} {
		if err := Guard(strings.NewReader(order + "\n")); err == nil {
			t.Errorf("%q was taken", order)
		}
	}
}

// sleeper is a process that would last.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

type writeCloser struct{ *strings.Builder }

func (writeCloser) Close() error { return nil }
