package main

import (
	"regexp"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestTenantLimits_AreShown_Set_AndReset_OneByOne(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	expect := func(text string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
				t.Errorf("no line %q in\n%s", line, text)
			}
		}
	}
	expect(s.said(t, "tenant", "limits", tenant), `accounts +10000000 +default`, `worlds +100000 +default`)
	expect(s.said(t, "tenant", "limits", tenant, "--set", "worlds=3,accounts=0"), `accounts +0 +for this tenant`, `worlds +3 +for this tenant`, `devices +20000000 +default`)
	expect(s.said(t, "tenant", "limits", tenant, "--reset", "accounts", "--set", "devices=9"), `accounts +10000000 +default`, `worlds +3 +for this tenant`, `devices +9 +for this tenant`)
	if shown := told[holdfast.Limits](t, s, "tenant", "limits", tenant); shown.Revision != 3 || shown.Worlds.Limit != 3 {
		t.Errorf("after two changes: %+v", shown)
	}
	for args, want := range map[string]string{
		"--set speed=3":                `speed is no limit; these are: requests_per_second, `,
		"--set worlds=many":            `--set worlds: "many" is not a whole number`,
		"--set worlds=-1":              `--set worlds: "-1" is not a whole number`,
		"--reset worlds --reset speed": `speed is no limit`,
	} {
		if got := refused(t, s.as(s.operatorKey), exitUsage, append([]string{"tenant", "limits", tenant}, strings.Fields(args)...)...); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "limits", tenant, "--set", "requests_per_second=0"); !strings.Contains(got, "requests_per_second") {
		t.Errorf("a rate of nothing: %q", got)
	}
}

func TestTenantUsage_TellsWhatWasCounted_OrThatNothingWas(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	if got := s.said(t, "tenant", "usage", tenant); !strings.Contains(got, "ACCOUNTS    0\n") || !strings.Contains(got, "COUNTED     not yet, everywhere\n") {
		t.Errorf("before any count:\n%s", got)
	}
	if got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "usage", "018f0000-0000-7000-8000-000000000000"); !strings.Contains(got, "tenant_not_found") {
		t.Errorf("of nobody: %q", got)
	}
}
