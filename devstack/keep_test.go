package main_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
)

// lasting is what a kept stack has the same in every run.
var lasting = []string{
	"HOLDFAST_PLACEMENT", "HOLDFAST_OWNER_PASSWORD", "HOLDFAST_API_PASSWORD", "HOLDFAST_WORKER_PASSWORD",
	"HOLDFAST_SERVER_KEYS", "HOLDFAST_OPERATOR_KEY", "HOLDFAST_SECOND_OPERATOR_KEY",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
}

func TestKeep_DataAndSecretsLast(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		keepAndReturn(t, p, 0o711)
	})
}

// As root the server runs as another user, who can't come into a private
// folder: the data goes where it can, and is found again.
func TestKeep_InAPrivateFolder_DataAndSecretsLast(t *testing.T) {
	t.Parallel()
	keepAndReturn(t, people()[0], 0o700)
}

// keepAndReturn keeps a stack in a folder whose parent has that mode, leaves
// something in it, and looks for it in a second run.
func keepAndReturn(t *testing.T, p person, mode os.FileMode) {
	home := p.home(t)
	parent := filepath.Join(home, "parent")
	if err := os.Mkdir(parent, mode); err != nil {
		t.Fatal(err)
	}
	p.own(t, parent)

	first := p.start(t, home, "--keep", "parent/kept", "--databases", "3")
	first.wantSetting(t, "fsync", "on") // the default
	if _, err := first.admin(t).Exec(t.Context(), "CREATE TABLE left_here AS SELECT 42 AS answer"); err != nil {
		t.Fatal(err)
	}
	bucket, key := aws.String(first.env["HOLDFAST_BODIES_BUCKET"]), aws.String("left/here")
	if _, err := first.client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("answer")}); err != nil {
		t.Fatal(err)
	}
	if code := first.end(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, first.stderr)
	}
	secrets, err := os.Stat(filepath.Join(parent, "kept", "secrets.json"))
	if err != nil || secrets.Mode() != 0o600 {
		t.Errorf("secrets: %v, mode %v, want 0600", err, secrets.Mode())
	}

	second := p.start(t, home, "--keep", "parent/kept")
	if diff := cmp.Diff(only(first.env, lasting), only(second.env, lasting)); diff != "" {
		t.Errorf("the second run's settings differ:\n%s", diff)
	}
	var answer int
	if err := second.admin(t).QueryRow(t.Context(), "SELECT answer FROM left_here").Scan(&answer); err != nil || answer != 42 {
		t.Errorf("the row reads %d, %v", answer, err)
	}
	out, err := second.client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(out.Body); err != nil || !bytes.Equal(body, []byte("answer")) {
		t.Errorf("the object reads %q, %v", body, err)
	}
	second.end(t)
}

func TestKeep_RowsAndBodiesAreLostTogether(t *testing.T) {
	t.Parallel()
	p := people()[0]
	home := p.home(t)
	first := p.start(t, home, "--keep", "kept", "--durable=false")
	bucket, key := aws.String(first.env["HOLDFAST_BODIES_BUCKET"]), aws.String("left/here")
	if _, err := first.client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("body")}); err != nil {
		t.Fatal(err)
	}
	first.end(t)
	if err := os.RemoveAll(filepath.Join(home, "kept", "postgres")); err != nil {
		t.Fatal(err)
	}

	second := p.start(t, home, "--keep", "kept", "--durable=false")
	_, err := second.client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
	wantCode(t, err, "NoSuchKey")
	second.end(t)
}

func TestKeep_OneStackAtATime_WithTheSameDatabases(t *testing.T) {
	t.Parallel()
	p := people()[0]
	home := p.home(t)
	s := p.start(t, home, "--keep", "kept", "--databases", "1")
	got := finish(t, p.devstack(home, "--keep", "kept", "--", "true"))
	if got.code != 125 || !strings.Contains(got.stderr, "in use") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("a second stack in the folder: %+v, want exit code 125 and one line that says it is in use", got)
	}
	s.end(t)

	got = finish(t, p.devstack(home, "--keep", "kept", "--databases", "2", "--", "true"))
	if got.code != 125 || !strings.Contains(got.stderr, "has 1 data databases, not 2") {
		t.Errorf("another number of databases: %+v, want exit code 125 and the reason", got)
	}
}

func TestStacks_RunSideBySide(t *testing.T) {
	t.Parallel()
	p := people()[0]
	home := p.home(t)
	one, two := p.start(t, home, "--durable=false"), p.start(t, home, "--durable=false")
	for _, name := range []string{"HOLDFAST_CONTROL_URL", "HOLDFAST_BODIES_ENDPOINT", "HOLDFAST_OPERATOR_KEY"} {
		if one.env[name] == two.env[name] {
			t.Errorf("both have %s=%s", name, one.env[name])
		}
	}
	if one.end(t) != 0 {
		t.Error(one.stderr)
	}
	two.admin(t) // the first one's end is its own
	if two.end(t) != 0 {
		t.Error(two.stderr)
	}
}

func only(env map[string]string, names []string) map[string]string {
	chosen := make(map[string]string)
	for _, name := range names {
		chosen[name] = env[name]
	}
	return chosen
}
