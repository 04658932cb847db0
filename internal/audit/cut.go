package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kept is how long entries are kept.
const Kept = 400 * 24 * time.Hour

// maxCut is how many entries one step takes off.
const maxCut = 5000

const (
	// sqlOld finds the last of the entries that have had their time, of so many from
	// the front. The database's clock judges, here and in cut_audit_log, an hour apart.
	sqlOld = `
SELECT sequence, hash FROM (
    SELECT sequence, hash FROM audit_log WHERE at < clock_timestamp() - interval '400 days 1 hour' ORDER BY sequence LIMIT $1) AS old
 ORDER BY sequence DESC LIMIT 1`

	sqlCut = `SELECT removed, remaining FROM cut_audit_log($1)`
)

// CutOff takes entries off the front that are older than Kept, a step of them, and
// gives how many; 0 when there are none. The entry that says so commits with it.
//
// Errors: unavailable.
func (l *Log) CutOff(ctx context.Context) (removed int64, err error) {
	err = l.control.ControlTx(ctx, operators, func(tx pgx.Tx) error {
		removed, err = l.cutTx(ctx, tx)
		return err
	})
	return removed, err
}

func (l *Log) cutTx(ctx context.Context, tx pgx.Tx) (removed int64, err error) {
	if _, err := tx.Exec(ctx, sqlLockLog); err != nil {
		return 0, err
	}
	var cut Cut
	var hash []byte
	err = tx.QueryRow(ctx, sqlOld, maxCut).Scan(&cut.Through, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	copy(cut.Hash[:], hash)
	if _, err := AppendTx(ctx, tx, l.now(), Entry{Outcome: CutOff, Operation: "audit_cut", Cut: &cut}); err != nil {
		return 0, err
	}
	var left int64
	if err := tx.QueryRow(ctx, sqlCut, cut.Through).Scan(&removed, &left); err != nil {
		return 0, err
	}
	if left != 0 {
		return 0, fmt.Errorf("%d entries up to number %d are too young to be cut off", left, cut.Through)
	}
	return removed, nil
}
