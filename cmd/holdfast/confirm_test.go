package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// revoke runs lease revoke with a standard input.
func (s *service) revoke(ctx context.Context, n *node, in io.Reader, stderr io.Writer) (stdout string, err error) {
	root := newRoot(s.as(s.operatorKey))
	var out strings.Builder
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(stderr)
	root.SetArgs([]string{"lease", "revoke", n.tenant, n.world, "--reason", "It hangs."})
	err = root.ExecuteContext(ctx)
	return out.String(), err
}

func TestConfirm_OnlyAYesAtTheTerminalGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	for name, c := range map[string]struct {
		types  string
		wanted bool
	}{
		"y": {"y\n", true}, "yes": {" YES \n", true}, "n": {"n\n", false}, "nothing": {"\n", false}, "something": {"yep\n", false},
		"the end": {"\x04", false},
	} {
		n := s.node(t, strings.ReplaceAll(name, " ", "-")).hold(t)
		keyboard, terminal, err := pty.Open()
		must(t, err)
		defer keyboard.Close()
		defer terminal.Close()
		_, err = io.WriteString(keyboard, c.types)
		must(t, err)
		var asked strings.Builder
		stdout, err := s.revoke(t.Context(), n, terminal, &asked)
		if !strings.HasSuffix(asked.String(), "Revoke it? [y/N] ") {
			t.Errorf("%s: it asks %q", name, asked.String())
		}
		if c.wanted {
			if err != nil || !strings.Contains(stdout, "coordinator") {
				t.Errorf("%s: %q, %v", name, stdout, err)
			}
			continue
		}
		if err == nil || err.Error() != "nothing was revoked: it was not confirmed" || stdout != "" {
			t.Errorf("%s: %q, %v", name, stdout, err)
		}
		n.expectHeld(t, name)
	}
}

func TestConfirm_Interrupted_NothingIsDone(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	keyboard, terminal, err := pty.Open()
	must(t, err)
	defer keyboard.Close()
	defer terminal.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	stdout, err := s.revoke(ctx, n, terminal, writerFunc(func(text string) {
		if strings.Contains(text, "[y/N]") {
			interrupt()
		}
	}))
	if err == nil || err.Error() != "nothing was revoked: interrupted" || stdout != "" {
		t.Errorf("%q, %v", stdout, err)
	}
	n.expectHeld(t, "interrupted")
}

type writerFunc func(text string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}

func TestConfirm_WithoutATerminalNobodyIsAskedAndNothingIsRevoked(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	var said strings.Builder
	stdout, err := s.revoke(t.Context(), n, strings.NewReader(""), &said)
	if err == nil || !strings.Contains(err.Error(), "Say --yes") || stdout != "" || strings.Contains(said.String(), "[y/N]") {
		t.Errorf("%q, %q, %v", stdout, said.String(), err)
	}
	n.expectHeld(t, "unasked")
}
