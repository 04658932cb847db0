package testkit

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// server is the PostgreSQL server that all tests of all packages share.
type server struct {
	admin *url.URL // the superuser's
}

func connectServer(t testing.TB) server {
	t.Helper()
	text := os.Getenv("HOLDFAST_TEST_ADMIN_URL")
	if text == "" {
		t.Fatal("HOLDFAST_TEST_ADMIN_URL is not set: run make test")
	}
	admin, err := url.Parse(text)
	if err != nil || admin.User == nil || admin.Host == "" {
		t.Fatal("HOLDFAST_TEST_ADMIN_URL is not the URL of a superuser: run make test")
	}
	return server{admin}
}

// connect opens a superuser's connection to the database that the admin's URL
// names: locks taken there are locks on the whole server.
func (s server) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, s.admin.String())
}

// adminURL is the superuser's URL of a database.
func (s server) adminURL(database string) string {
	u := *s.admin
	u.Path = "/" + database
	return u.String()
}

// plainURL is a database's URL without a user.
func (s server) plainURL(database string) string {
	u := *s.admin
	u.User = nil
	u.Path = "/" + database
	return u.String()
}

// password is a fixed role's. Roles are the server's, not a database's, so
// every process must give one the same password: the environment's, where the
// server serves more than tests, else one that follows from the superuser's.
func (s server) password(role string) string {
	name := "HOLDFAST_" + strings.ToUpper(strings.TrimPrefix(role, "holdfast_")) + "_PASSWORD"
	if given := os.Getenv(name); given != "" {
		return given
	}
	secret, _ := s.admin.User.Password()
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(role))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func (s server) passwords() postgres.Passwords {
	return postgres.Passwords{API: s.password(postgres.RoleAPI), Worker: s.password(postgres.RoleWorker)}
}
