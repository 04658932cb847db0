package main

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// beginAtTwo runs tenant storage --format 2 with a standard input.
func (s *service) beginAtTwo(t *testing.T, tenant string, in io.Reader, flags ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := newRoot(s.as(s.operatorKey))
	var out, said strings.Builder
	root.SetIn(in)
	root.SetOut(&out)
	root.SetErr(&said)
	root.SetArgs(append([]string{"tenant", "storage", tenant, "--format", "2"}, flags...))
	err = root.ExecuteContext(t.Context())
	return out.String(), said.String(), err
}

func (s *service) expectFormat(t *testing.T, what, tenant string, want int16) {
	t.Helper()
	if got := told[holdfast.Storage](t, s, "tenant", "storage", tenant); got.RecordFormat != want {
		t.Errorf("%s: the tenant is at format %d, want %d", what, got.RecordFormat, want)
	}
}

func TestTenantStorage_IsShownAndSet(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme")
	if got := s.said(t, "tenant", "storage", tenant.ID); got != "NEW COLLECTIONS  format 1, bodies in the database\n" {
		t.Errorf("before: %q", got)
	}
	if got := told[holdfast.Tenant](t, s, "tenant", "storage", tenant.ID, "--format", "1"); got != tenant {
		t.Errorf("set to what it is: %+v, want %+v", got, tenant)
	}

	stdout, stderr, err := s.beginAtTwo(t, tenant.ID, strings.NewReader(""), "--yes")
	want := "Tenant acme: new collections begin at format 1, bodies in the database.\n" + pointOfNoReturn
	if err != nil || stderr != want || !strings.Contains(stdout, "\nFORMAT      2\n") {
		t.Errorf("--yes: %q, %q, %v", stdout, stderr, err)
	}
	if got := s.said(t, "tenant", "storage", tenant.ID); got != "NEW COLLECTIONS  format 2, bodies in the object store\n" {
		t.Errorf("after: %q", got)
	}
	// Nothing is left to ask about.
	if again := told[holdfast.Tenant](t, s, "tenant", "storage", tenant.ID, "--format", "2"); again.RecordFormat != 2 || again.Revision != tenant.Revision+1 {
		t.Errorf("again: %+v", again)
	}
	got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "storage", tenant.ID, "--format", "1")
	if !strings.Contains(got, "(record_format_fixed, request ") {
		t.Errorf("back to 1: %q", got)
	}
	s.expectFormat(t, "after all", tenant.ID, 2)
	if got := refused(t, s.as(s.operatorKey), exitUsage, "tenant", "storage", tenant.ID, "--format", "3"); !strings.Contains(got, "it is not one of 1, 2") {
		t.Errorf("format 3: %q", got)
	}
}

func TestTenantStorage_OnlyAYesAtTheTerminalGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	for name, c := range map[string]struct {
		types  string
		format int16 // afterwards
	}{
		"y": {"y\n", 2}, "n": {"n\n", 1}, "nothing": {"\n", 1}, "the-format": {"2\n", 1}, "the-end": {"\x04", 1},
	} {
		tenant := told[holdfast.Tenant](t, s, "tenant", "create", name).ID
		keyboard, terminal, err := pty.Open()
		must(t, err)
		defer keyboard.Close()
		defer terminal.Close()
		_, err = io.WriteString(keyboard, c.types)
		must(t, err)
		stdout, asked, err := s.beginAtTwo(t, tenant, terminal)
		if !strings.HasSuffix(asked, pointOfNoReturn+"Begin them at format 2? [y/N] ") {
			t.Errorf("%s: it asks %q", name, asked)
		}
		switch {
		case c.format == 2 && (err != nil || !strings.Contains(stdout, "\nFORMAT      2\n")),
			c.format == 1 && (err == nil || err.Error() != "nothing was changed: it was not confirmed" || stdout != ""):
			t.Errorf("%s: %q, %v", name, stdout, err)
		}
		s.expectFormat(t, name, tenant, c.format)
	}
}

func TestTenantStorage_WithoutATerminalNobodyIsAskedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	stdout, said, err := s.beginAtTwo(t, tenant, strings.NewReader("y\n"))
	if err == nil || !strings.Contains(err.Error(), "Say --yes") || stdout != "" || strings.Contains(said, "[y/N]") {
		t.Errorf("%q, %q, %v", stdout, said, err)
	}
	s.expectFormat(t, "unasked", tenant, 1)
}

func TestTenantStorage_WhereBodiesWouldNotBeSafe_IsRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	s.objects.err = domain.Conflict("lifecycle_overlaps", "A rule of the bucket could delete bodies.")
	_, _, err := s.beginAtTwo(t, tenant, strings.NewReader(""), "--yes")
	if err == nil || !strings.Contains(err.Error(), "A rule of the bucket could delete bodies. (lifecycle_overlaps, request ") {
		t.Errorf("%v", err)
	}
	s.expectFormat(t, "refused", tenant, 1)
}
