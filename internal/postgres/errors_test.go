package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// refused is what pgx says when nobody listens.
func refused(t *testing.T) error {
	t.Helper()
	_, err := pgconn.Connect(t.Context(), "host="+filepath.Join(t.TempDir(), "nobody")+" user=x database=x")
	if err == nil {
		t.Fatal("somebody listens where nobody can")
	}
	return err
}

// unsent is an error of the driver before it sent anything.
type unsent struct{ error }

func (unsent) SafeToRetry() bool { return true }
func (u unsent) Unwrap() error   { return u.error }

func pgError(severity, code string) error {
	return &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: severity, Code: code, Message: "in the server's own language"}
}

func TestErrors_OfStatementsAndOfCommits(t *testing.T) {
	t.Parallel()
	const unavailable, busy, unknown = "unavailable database_unavailable", "unavailable database_busy", "outcome_unknown outcome_unknown"
	const itself = "internal " // what isn't listed stays as it is
	own := domain.Conflict("handle_taken", "The handle is in use.")
	cases := []struct {
		name      string
		err       error
		statement string // what Classify makes of it
		commit    string // what CommitFailed makes of it
	}{
		{"a refusal of the domain's own", own, "conflict handle_taken", "conflict handle_taken"},
		{"a lock wait that timed out", pgError("ERROR", "55P03"), busy, busy},
		{"a statement that timed out", pgError("ERROR", "57014"), busy, busy},
		{"a deadlock", pgError("ERROR", "40P01"), busy, busy},
		{"a conflict of serializable transactions", pgError("ERROR", "40001"), busy, busy},
		{"a check that failed", pgError("ERROR", "23514"), itself, itself},
		{"a refusal of enter", pgError("ERROR", "HF002"), itself, itself}, // tenancy gives those their kinds
		{"out of connections", pgError("FATAL", "53300"), unavailable, unknown},
		{"out of disk", pgError("ERROR", "53100"), unavailable, unavailable},
		{"a terminated backend", pgError("FATAL", "57P01"), unavailable, unknown},
		{"a crash of another backend", pgError("FATAL", "57P02"), unavailable, unknown},
		{"a server that starts", pgError("FATAL", "57P03"), unavailable, unknown},
		{"an idle transaction that timed out", pgError("FATAL", "25P03"), unavailable, unknown},
		{"a connection exception", pgError("FATAL", "08006"), unavailable, unknown},
		{"nobody who listens", refused(t), unavailable, unknown},
		{"an end in the middle of a message", io.ErrUnexpectedEOF, unavailable, unknown},
		{"an end between two messages", io.EOF, unavailable, unknown},
		{"a reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, unavailable, unknown},
		{"a deadline", context.DeadlineExceeded, unavailable, unknown},
		{"a caller that went away", context.Canceled, itself, unknown},
		{"a caller that had gone before anything was sent", unsent{context.Canceled}, itself, itself},
		{"a deadline that had passed before anything was sent", unsent{context.DeadlineExceeded}, unavailable, unavailable},
		{"a connection that had been closed before", unsent{pgconn.ErrConnClosed}, unavailable, unavailable},
		{"a bug", errors.New("can't scan into dest[0]"), itself, unknown},
	}
	for _, c := range cases {
		for _, wrapped := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			for judge, want := range map[string]string{"statement": c.statement, "commit": c.commit} {
				judged := postgres.Classify(wrapped)
				if judge == "commit" {
					judged = postgres.CommitFailed(wrapped)
				}
				if got := domain.KindOf(judged).String() + " " + domain.CodeOf(judged); got != want {
					t.Errorf("%s, of a %s: %q, want %q", c.name, judge, got, want)
				}
				if !errors.Is(judged, c.err) {
					t.Errorf("%s, of a %s: the cause is lost: %v", c.name, judge, judged)
				}
			}
		}
	}
}

func TestErrors_NoneStaysNone(t *testing.T) {
	t.Parallel()
	if err := postgres.Classify(nil); err != nil {
		t.Errorf("Classify(nil) = %v", err)
	}
	if err := postgres.CommitFailed(nil); err != nil {
		t.Errorf("CommitFailed(nil) = %v", err)
	}
}

func TestErrors_WhatMayPassSaysWhen(t *testing.T) {
	t.Parallel()
	for _, err := range []error{pgError("ERROR", "55P03"), io.EOF} {
		var known *domain.Error
		if !errors.As(postgres.Classify(err), &known) || known.RetryAfter <= 0 {
			t.Errorf("%v is judged %v, want a time after which to retry", err, known)
		}
	}
}
