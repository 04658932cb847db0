package postgres_test

import (
	"encoding/base64"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// The user "user" of RFC 7677, section 3, as PostgreSQL would keep the password.
func TestScramVerifier_IsWhatTheServerWouldKeep(t *testing.T) {
	t.Parallel()
	salt, err := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	if err != nil {
		t.Fatal(err)
	}
	const want = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$" +
		"WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	got, err := postgres.ScramVerifierWith("pencil", salt, 4096)
	if err != nil || got != want {
		t.Errorf("verifier %q, %v; want %q", got, err, want)
	}
}
