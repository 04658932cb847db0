package main_test

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestStack_Serves(t *testing.T) {
	forEach(t, func(t *testing.T, p person) {
		s := p.start(t, p.home(t), "--databases", "3", "--durable=false")
		for promise, test := range map[string]func(*testing.T, *session){
			"databases are owned by a role without special rights": databasesAreTheOwners,
			"nobody comes in without the password":                 passwordIsNeeded,
			"secrets have their forms":                             secretsHaveTheirForms,
			"objects come back as they went":                       objectsComeBack,
			"a bucket may be named by the host":                    hostsNameBuckets,
			"create-only has one winner":                           createOnlyHasOneWinner,
			"a wrong digest or signature is refused":               wrongDigestOrSignatureIsRefused,
			"lifecycle rules are kept until deleted":               lifecycleRulesAreKept,
		} {
			t.Run(promise, func(t *testing.T) { test(t, s) })
		}
		if code := s.end(t); code != 0 {
			t.Errorf("exit code %d: %s", code, s.stderr)
		}
	})
}

func databasesAreTheOwners(t *testing.T, s *session) {
	if got, want := s.env["HOLDFAST_PLACEMENT"], "data1=0-21 data2=22-42 data3=43-63"; got != want {
		t.Errorf("placement %q, want %q", got, want)
	}
	all := map[string]string{"holdfast_control": s.env["HOLDFAST_CONTROL_URL"]}
	for _, entry := range strings.Fields(s.env["HOLDFAST_DATA_URLS"]) {
		name, address, _ := strings.Cut(entry, "=")
		all["holdfast_"+name] = address
	}
	if len(all) != 4 {
		t.Errorf("databases %v, want the control database and three more", all)
	}
	for name, address := range all {
		conn := connect(t, withUser(t, address, "holdfast_owner", s.env["HOLDFAST_OWNER_PASSWORD"]))
		var database, owner string
		var super, createRole bool
		err := conn.QueryRow(t.Context(), `
			SELECT datname, pg_get_userbyid(datdba), rolsuper, rolcreaterole
			FROM pg_database, pg_roles
			WHERE datname = current_database() AND rolname = current_user`).Scan(&database, &owner, &super, &createRole)
		if err != nil {
			t.Fatal(err)
		}
		if database != name || owner != "holdfast_owner" || super || !createRole {
			t.Errorf("%s: database %s, owner %s, superuser %v, createrole %v", address, database, owner, super, createRole)
		}
	}
}

func passwordIsNeeded(t *testing.T, s *session) {
	for _, password := range []string{"", "postgres", "wrong"} {
		_, err := pgx.Connect(t.Context(), withUser(t, s.env["HOLDFAST_CONTROL_URL"], "postgres", password))
		var refused *pgconn.PgError
		if password == "" && err != nil {
			continue // the client itself gives up
		}
		if !errors.As(err, &refused) || refused.Code != "28P01" {
			t.Errorf("password %q: %v, want 28P01", password, err)
		}
	}
	s.wantSetting(t, "listen_addresses", "127.0.0.1")
	s.wantSetting(t, "unix_socket_directories", "")
	s.wantSetting(t, "fsync", "off") // as the flag asked
}

func secretsHaveTheirForms(t *testing.T, s *session) {
	seen := make(map[string]string)
	for name, form := range map[string]string{
		"HOLDFAST_OWNER_PASSWORD":      `^[0-9a-f]{32}$`,
		"HOLDFAST_API_PASSWORD":        `^[0-9a-f]{32}$`,
		"HOLDFAST_WORKER_PASSWORD":     `^[0-9a-f]{32}$`,
		"HOLDFAST_SERVER_KEYS":         `^dev1:[0-9a-f]{64}$`,
		"HOLDFAST_OPERATOR_KEY":        `^hf_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}_[A-Za-z0-9_-]{43}$`,
		"HOLDFAST_SECOND_OPERATOR_KEY": `^hf_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}_[A-Za-z0-9_-]{43}$`,
		"AWS_ACCESS_KEY_ID":            `^[0-9a-f]{20}$`,
		"AWS_SECRET_ACCESS_KEY":        `^[0-9a-f]{40}$`,
	} {
		value := s.env[name]
		if !regexp.MustCompile(form).MatchString(value) {
			t.Errorf("%s=%s, want %s", name, value, form)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[value] = name
	}
}

// admin is a connection of the superuser's.
func (s *session) admin(t *testing.T) *pgx.Conn {
	t.Helper()
	return connect(t, s.env["HOLDFAST_TEST_ADMIN_URL"])
}

// wantSetting fails the test unless the server's setting has that value.
func (s *session) wantSetting(t *testing.T, name, want string) {
	t.Helper()
	var got string
	if err := s.admin(t).QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func withUser(t *testing.T, address, user, password string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if u.User != nil {
		t.Errorf("%s names a user", u.Redacted())
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
