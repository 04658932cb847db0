package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Classify turns a failure of PostgreSQL, or of the way to it, into the
// domain's kinds: what may pass with time is unavailable, everything else stays
// as it is (internal). A domain error passes through. It judges statements; an
// error on COMMIT is CommitFailed's.
func Classify(err error) error {
	var known *domain.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return classifyState(pg)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	var network net.Error
	var connect *pgconn.ConnectError
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) || errors.As(err, &connect) || connectionLost(err) {
		return domain.Unavailable("database_unavailable",
			"A database can't be reached at the moment. Nothing was changed; try again.").After(time.Second).Because(err)
	}
	return err
}

func classifyState(pg *pgconn.PgError) error {
	switch {
	case pg.Code == "55P03", pg.Code == "57014", pg.Code == "40P01", pg.Code == "40001":
		return domain.Unavailable("database_busy",
			"The database was too busy to decide in time. Nothing was changed; try again.").After(time.Second).Because(pg)
	case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "57P"),
		pg.Code == "25P03", pg.Code == "25P04": // this process was paused, and its transaction ended for it
		return domain.Unavailable("database_unavailable",
			"A database can't be reached at the moment. Nothing was changed; try again.").After(time.Second).Because(pg)
	default:
		return pg
	}
}

// CommitFailed judges an error of the call that sends COMMIT. Unless the server
// itself said that a statement failed, or the driver that it sent nothing, nobody
// can know whether the transaction was committed.
func CommitFailed(err error) error {
	var known *domain.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.SeverityUnlocalized == "ERROR" {
		return classifyState(pg)
	}
	if pgconn.SafeToRetry(err) { // nothing had been sent after all
		return Classify(err)
	}
	return domain.OutcomeUnknown("outcome_unknown",
		"The connection was lost while the change was being committed, so it may or may not have happened. "+
			"Read the state again; a request that had an Idempotency-Key may be repeated with the same one.").Because(err)
}

// connectionLost tells errors of a connection that broke under a statement.
func connectionLost(err error) bool {
	return pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}
