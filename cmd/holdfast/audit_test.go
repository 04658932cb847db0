package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/audit"
)

func TestAudit_ShowsWhoDidWhatAndVerifiesOffline(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	var tenant holdfast.Tenant
	must(t, json.Unmarshal([]byte(s.said(t, "tenant", "create", "acme", "--json")), &tenant))
	var head map[string]any
	folder := t.TempDir()
	kept := filepath.Join(folder, "head.json")
	text := s.said(t, "audit", "head", "--json")
	must(t, json.Unmarshal([]byte(text), &head))
	must(t, os.WriteFile(kept, []byte(text), 0o600))
	s.said(t, "tenant", "suspend", tenant.ID)

	shown := s.said(t, "audit", "show", "--tenant", tenant.ID)
	for _, want := range []string{"begun", "done", "first", "suspendTenant", "tenant_id=" + tenant.ID} {
		if !strings.Contains(shown, want) {
			t.Errorf("show says nothing of %s:\n%s", want, shown)
		}
	}
	if none := s.said(t, "audit", "show", "--operator", "nobody", "--json"); strings.TrimSpace(none) != "[]" {
		t.Errorf("of nobody: %s", none)
	}
	if none := s.said(t, "audit", "show", "--from", "2999-01-01", "--json"); strings.TrimSpace(none) != "[]" {
		t.Errorf("of the far future: %s", none)
	}

	log := filepath.Join(folder, "audit.ndjson")
	s.said(t, "audit", "export", log)
	if got := execute(t, s.as(s.operatorKey), "audit", "export", log); got.code != exitFailed || !strings.Contains(got.stderr, "choose another name") {
		t.Errorf("a file that is there is written over: %+v", got)
	}
	keys := filepath.Join(folder, "keys.json")
	must(t, os.WriteFile(keys, []byte(s.checkpointKeys(t)), 0o600))
	verified := execute(t, nil, "audit", "verify", log, "--head", kept, "--keys", keys)
	if verified.code != exitOK || !strings.Contains(verified.stdout, "The log is sound, and agrees with the head: entries 1 to ") {
		t.Errorf("verify: %+v", verified)
	}

	var told auditVerdict
	verified = execute(t, nil, "audit", "verify", log, "--head", kept, "--keys", keys, "--json")
	if err := json.Unmarshal([]byte(verified.stdout), &told); err != nil || !told.SignaturesVerified {
		t.Errorf("verify: %+v, %v", verified, err)
	}
	verified = execute(t, nil, "audit", "verify", log, "--head", kept)
	if verified.code != exitOK || !strings.Contains(verified.stdout, "no head's signature was verified") {
		t.Errorf("without keys: %+v", verified)
	}
	verified = execute(t, nil, "audit", "verify", log, "--head", kept, "--json")
	if !strings.Contains(verified.stdout, `"signatures_verified": false`) {
		t.Errorf("without keys: %+v", verified)
	}
	for name, text := range map[string]string{"empty": "{}", "without keys": `{"keys":[]}`, "a list": "[1]", "no JSON": "keys"} {
		wrong := filepath.Join(folder, "wrong.json")
		must(t, os.WriteFile(wrong, []byte(text), 0o600))
		got := refused(t, nil, exitUsage, "audit", "verify", log, "--head", kept, "--keys", wrong)
		if !strings.Contains(got, wrong) || strings.Contains(got, "unmarshal") {
			t.Errorf("keys that are %s: %q", name, got)
		}
	}
	if got := refused(t, nil, exitUsage, "audit", "verify", log, "--head", keys); !strings.Contains(got, "it is not a head of an audit log") {
		t.Errorf("keys for a head: %q", got)
	}

	// Somebody changes a line; somebody takes the last ones away.
	lines, err := os.ReadFile(log)
	must(t, err)
	changed := strings.Replace(string(lines), `"suspendTenant"`, `"resumeTenant"`, 1)
	cut := strings.Join(strings.SplitAfter(string(lines), "\n")[:1], "")
	for name, c := range map[string]struct{ text, want string }{
		"changed": {changed, ": it was changed: "},
		"cut":     {cut, "The log fails at entry 2"},
	} {
		file := filepath.Join(folder, name)
		must(t, os.WriteFile(file, []byte(c.text), 0o600))
		if got := execute(t, nil, "audit", "verify", file, "--head", kept); got.code != exitDiffers || !strings.Contains(got.stdout, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
		var verdict audit.Verdict
		got := execute(t, nil, "audit", "verify", file, "--head", kept, "--json")
		if err := json.Unmarshal([]byte(got.stdout), &verdict); err != nil || verdict.Fault == nil {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	half := filepath.Join(folder, "half")
	must(t, os.WriteFile(half, lines[:len(lines)-10], 0o600))
	if got := execute(t, nil, "audit", "verify", half); got.code != exitDiffers || !strings.Contains(got.stdout, "it isn't a whole JSON object") {
		t.Errorf("cut off in a line: %+v", got)
	}
	// A head that nobody signed.
	head["sequence"] = 1
	forged, err := json.Marshal(head)
	must(t, err)
	must(t, os.WriteFile(kept, forged, 0o600))
	if got := execute(t, nil, "audit", "verify", log, "--head", kept, "--keys", keys); got.code != exitDiffers || !strings.Contains(got.stderr, "signature") {
		t.Errorf("a forged head: %+v", got)
	}
}

func TestAuditShow_RefusesWhatNoEntryCouldBe(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--from 2027-02-01 --to 2027-01-31": "--from 2027-02-01T00:00:00Z is not earlier than --to 2027-01-31T00:00:00Z",
		"--from 2027-01-31 --to 2027-01-31": "is not earlier than",
		"--to 2020-01-31":                   "before the last day",
		"--tenant nope":                     `--tenant "nope" is not an id`,
	} {
		if got := refused(t, nil, exitUsage, append([]string{"audit", "show"}, strings.Fields(flags)...)...); !strings.Contains(got, want) {
			t.Errorf("%s: %q", flags, got)
		}
	}
}

// checkpointKeys are those that the API publishes.
func (s *service) checkpointKeys(t *testing.T) string {
	t.Helper()
	set, err := s.keys.JWKS(t.Context())
	must(t, err)
	text, err := json.Marshal(set)
	must(t, err)
	return string(text)
}

func TestIssuer_IsTrustedListedAndDisabled(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	var tenant holdfast.Tenant
	must(t, json.Unmarshal([]byte(s.said(t, "tenant", "create", "acme", "--json")), &tenant))
	create := []string{"issuer", "create", tenant.ID, "--issuer", "https://id.example", "--jwks-uri", "https://id.example/certs", "--audience", "api", "--scopes", "record:read"}
	var made holdfast.Issuer
	must(t, json.Unmarshal([]byte(s.said(t, append(create, "--json")...)), &made))
	if got := execute(t, s.as(s.operatorKey), create...); got.code != exitFailed || !strings.Contains(got.stderr, "issuer_taken") {
		t.Errorf("twice: %+v", got)
	}
	if list := s.said(t, "issuer", "list", tenant.ID); !strings.Contains(list, "https://id.example") || !strings.Contains(list, "1h0m0s") {
		t.Error(list)
	}
	s.said(t, "issuer", "disable", tenant.ID, made.ID)
	var all []holdfast.Issuer
	must(t, json.Unmarshal([]byte(s.said(t, "issuer", "list", tenant.ID, "--json")), &all))
	if len(all) != 1 || all[0].DisabledAt == nil {
		t.Errorf("%+v", all)
	}
}
