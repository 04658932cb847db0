package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun_FolderInputOutputAndExitCodeAreTheCommands(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		home := p.home(t)
		cmd := p.devstack(home, "--durable=false", "--", "sh", "-c", "pwd; cat; echo plain >&2; exit 7")
		cmd.Stdin = strings.NewReader("what came in\n")
		got := finish(t, cmd)
		want := outcome{7, home + "\nwhat came in\n", "plain\n"}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestRun_CommandKilledByASignal_IsSaidAsAShellDoes(t *testing.T) {
	t.Parallel()
	p := people()[0]
	got := finish(t, p.devstack(p.home(t), "--durable=false", "--", "sh", "-c", "kill -TERM $$"))
	if got.code != 128+15 {
		t.Errorf("exit code %d, want %d; %s", got.code, 128+15, got.stderr)
	}
}

func TestRun_CommandThatCannotStart_SaysSoAtOnce(t *testing.T) {
	t.Parallel()
	home := people()[0].home(t)
	plain := filepath.Join(home, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]int{"no-such-command": 127, plain: 126} {
		got := finish(t, people()[0].devstack(home, "--", command))
		if got.code != want || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, want %d; standard error should be one line: %q", command, got.code, want, got.stderr)
		}
	}
}

func TestRun_WrongUse_IsRefused(t *testing.T) {
	t.Parallel()
	home := people()[0].home(t)
	for _, args := range [][]string{
		{"--databases", "65", "--", "true"},
		{"--databases", "-1", "--", "true"},
		{"--nosuchflag", "--", "true"},
		{"--durable=false", "--"},
	} {
		if got := finish(t, people()[0].devstack(home, args...)); got.code != 125 || got.stderr == "" {
			t.Errorf("%q: %+v, want exit code 125 and a reason", args, got)
		}
	}
}
