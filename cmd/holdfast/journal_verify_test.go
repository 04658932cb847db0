package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// downloaded is the journal of the worked examples as a client has it: each part
// in a file, as the API gives it.
type downloaded struct {
	Tenant     string
	World      string
	Entries    [][]byte // a line each
	dir        string
	keys       string // files
	checkpoint string
}

func download(t *testing.T) *downloaded {
	t.Helper()
	text, err := os.ReadFile("../../internal/domain/lease/journal/testdata/golden.json")
	must(t, err)
	var golden struct {
		Tenant     string `json:"tenant_id"`
		World      string `json:"world_id"`
		Entries    []struct{ Entry json.RawMessage }
		Keys       json.RawMessage `json:"keys"`
		Checkpoint json.RawMessage `json:"checkpoint"`
	}
	must(t, json.Unmarshal(text, &golden))
	d := &downloaded{Tenant: golden.Tenant, World: golden.World, dir: t.TempDir()}
	for _, e := range golden.Entries {
		var line bytes.Buffer
		must(t, json.Compact(&line, e.Entry))
		d.Entries = append(d.Entries, append(line.Bytes(), '\n'))
	}
	d.keys = d.file(t, "keys.json", golden.Keys)
	d.checkpoint = d.file(t, "checkpoint.json", golden.Checkpoint)
	return d
}

func (d *downloaded) file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(d.dir, name)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

// first is a file with the first entries.
func (d *downloaded) first(t *testing.T, n int) string {
	t.Helper()
	return d.file(t, "journal.ndjson", bytes.Join(d.Entries[:n], nil))
}

// verify runs the command without any environment.
func (d *downloaded) verify(t *testing.T, args ...string) result {
	t.Helper()
	return execute(t, nil, append([]string{"journal", "verify", "--tenant", d.Tenant, "--world", d.World}, args...)...)
}

func (d *downloaded) kept() []string { return []string{"--keys", d.keys, "--checkpoint", d.checkpoint} }

func TestJournalVerify_SaysInOneLineWhereTheJournalEnds(t *testing.T) {
	t.Parallel()
	d := download(t)
	n := len(d.Entries)
	const ends = ": positions 1 to 28, epoch 9, holder coordinator, hash 6fd40f60dd3563d3ad37f3d4faba47c73be0dc3c1442f5d7e7458f5a51e0e42b.\n"
	for with, args := range map[string][]string{
		"with no checkpoint to hold it to":  {d.first(t, n)},
		"and agrees with the checkpoint":    append(d.kept(), d.first(t, n)),
		"and agrees with all 2 checkpoints": append(d.kept(), "--checkpoint", d.checkpoint, d.first(t, n)),
	} {
		want := result{exitOK, "The journal is sound, " + with + ends, ""}
		if diff := cmp.Diff(want, d.verify(t, args...), cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestJournalVerify_TellsScriptsTheSame(t *testing.T) {
	t.Parallel()
	d := download(t)
	got := d.verify(t, append(d.kept(), "--json", d.first(t, len(d.Entries)))...)
	var verdict journalVerdict
	decoder := json.NewDecoder(strings.NewReader(got.stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&verdict); err != nil || got.code != exitOK {
		t.Fatalf("%+v: %v", got, err)
	}
	last, err := journal.ParseLine(d.Entries[len(d.Entries)-1])
	must(t, err)
	tenant, err := domain.ParseID[domain.TenantKind](d.Tenant)
	must(t, err)
	want := journalVerdict{
		Tenant: tenant, World: d.World, Position: last.Position, Epoch: last.Epoch, Holder: journal.Coordinator,
		Hash: last.Hash, LastAt: last.At, Retired: true, Checkpoints: 1,
	}
	if diff := cmp.Diff(want, verdict); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJournalVerify_LastThreeRowsDeleted_DiffersOnlyFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	d := download(t)
	n := len(d.Entries)
	cut := d.first(t, n-3)
	if got := d.verify(t, cut); got.code != exitOK || !strings.Contains(got.stdout, "with no checkpoint") {
		t.Errorf("without a checkpoint: %+v", got)
	}
	got := d.verify(t, append(d.kept(), cut)...)
	if got.code != exitDiffers || !strings.HasPrefix(got.stdout, `The journal fails: position 26 breaks the rule "checkpoint": the journal ends before it`) || got.stderr != "" {
		t.Errorf("against the checkpoint: %+v", got)
	}
	var verdict journalVerdict
	got = d.verify(t, append(d.kept(), cut, "--json")...)
	must(t, json.Unmarshal([]byte(got.stdout), &verdict))
	if f := verdict.Fault; got.code != exitDiffers || f == nil || f.Position != 26 || f.Rule != journal.RuleCheckpoint || verdict.Position != 25 {
		t.Errorf("for scripts: %+v", got)
	}
}

func TestJournalVerify_Differs(t *testing.T) {
	t.Parallel()
	d := download(t)
	whole := d.first(t, len(d.Entries))
	entries := bytes.Join(d.Entries, nil)
	replaced := func(name, old, new string) string {
		return d.file(t, name, bytes.Replace(entries, []byte(old), []byte(new), 1))
	}
	otherKeys := d.file(t, "other.json", []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"2026-11","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	noKeys := d.file(t, "none.json", []byte(`{"keys":[]}`))
	for what, c := range map[string]struct {
		args []string
		says string
	}{
		"another world":      {[]string{"--world", "eu-2", whole}, `position 1 breaks the rule "chain"`},
		"another tenant":     {[]string{"--tenant", "0192f0c1-7a3e-7c55-9b3a-4d1f0e5a6b71", whole}, `position 1 breaks the rule "chain"`},
		"another key":        {[]string{"--keys", otherKeys, "--checkpoint", d.checkpoint, whole}, `position 27 breaks the rule "checkpoint": the checkpoint's signature`},
		"an unknown key":     {[]string{"--keys", noKeys, "--checkpoint", d.checkpoint, whole}, `position 27 breaks the rule "checkpoint": the checkpoint's key "2026-11"`},
		"a changed payload":  {[]string{replaced("payload", `"payload":"aGVsbG8="`, `"payload":"aGVsbHA="`)}, `position 2 breaks the rule "line": the digest`},
		"a changed position": {[]string{replaced("position", `"position":9,`, `"position":10,`)}, `position 10 breaks the rule "position"`},
		"a changed holder":   {[]string{replaced("actor", "7bbb-b002", "7bbb-b003")}, `position 4 breaks the rule "chain"`},
		"a page of JSON":     {[]string{d.file(t, "page", []byte(`{"entries":[]}`))}, `position 1 breaks the rule "line"`},
		"nothing":            {[]string{d.file(t, "nothing", nil)}, `position 1 breaks the rule "position": there is no entry`},
	} {
		got := d.verify(t, c.args...)
		if got.code != exitDiffers || !strings.Contains(got.stdout, c.says) || strings.Count(got.stdout, "\n") != 1 || got.stderr != "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestJournalVerify_CannotWithoutWhatItNeeds(t *testing.T) {
	t.Parallel()
	d := download(t)
	whole := d.first(t, len(d.Entries))
	broken := d.file(t, "broken.json", []byte("<html>"))
	command := func(args ...string) []string { return append([]string{"journal", "verify"}, args...) }
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, command("--world", d.World, whole), "tenant"},
		{exitUsage, command("--tenant", d.Tenant, whole), "world"},
		{exitUsage, command("--tenant", "acme", "--world", d.World, whole), `--tenant "acme" is not an id`},
		{exitUsage, command("--tenant", d.Tenant, "--world", d.World), "usage"},
		{exitUsage, command("--tenant", d.Tenant, "--world", d.World, whole, "--checkpoint", d.checkpoint), "keys"},
		{exitFailed, command("--tenant", d.Tenant, "--world", d.World, filepath.Join(d.dir, "absent")), "absent"},
		{exitFailed, command("--tenant", d.Tenant, "--world", d.World, d.dir), d.dir},
		{exitFailed, command("--tenant", d.Tenant, "--world", d.World, whole, "--keys", broken, "--checkpoint", d.checkpoint), "broken.json: it is not"},
		{exitFailed, command("--tenant", d.Tenant, "--world", d.World, whole, "--keys", d.keys, "--checkpoint", broken), "broken.json: it is not"},
		{exitFailed, command("--tenant", d.Tenant, "--world", d.World, whole, "--keys", d.keys, "--checkpoint", filepath.Join(d.dir, "absent")), "absent"},
	} {
		if says := refused(t, nil, c.code, c.args...); !strings.Contains(says, c.says) {
			t.Errorf("%v: it says %q, without %q", c.args, says, c.says)
		}
	}
}

func TestJournalVerify_ReadsTheStandardInput(t *testing.T) {
	t.Parallel()
	d := download(t)
	in, out := io.Pipe()
	go func() {
		out.Write(bytes.Join(d.Entries, nil))
		out.Close()
	}()
	stdout, err := d.piped(t.Context(), in)
	if err != nil || !strings.Contains(stdout, "positions 1 to 28,") {
		t.Errorf("%s, %v", stdout, err)
	}
}

func TestJournalVerify_Interrupted_SaysNothingOfTheJournal(t *testing.T) {
	t.Parallel()
	d := download(t)
	in, out := io.Pipe()
	defer out.Close()
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		out.Write(d.Entries[0]) // it is read, and then the next is waited for
		interrupt()
	}()
	stdout, err := d.piped(ctx, in)
	if err == nil || err.Error() != "interrupted" || stdout != "" {
		t.Errorf("%s, %v", stdout, err)
	}
}

// piped verifies what comes in.
func (d *downloaded) piped(ctx context.Context, in io.Reader) (stdout string, err error) {
	root := newRoot(nil)
	root.SetIn(in)
	var out strings.Builder
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs([]string{"journal", "verify", "-", "--tenant", d.Tenant, "--world", d.World})
	err = root.ExecuteContext(ctx)
	return out.String(), err
}
