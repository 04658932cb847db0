package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// errStepMade is what a step comes to that another worker has made.
var errStepMade = errors.New("another worker has moved the snapshot's cursor")

// sqlMoveSnapshot moves a snapshot on from where it was found.
const sqlMoveSnapshot = `
UPDATE snapshots s SET state = $13, ended_at = $14, due_at = $15, walking = $16, after_key = $17, after_section = $18,
       after_sequence = $19, sequence = $20, parts = $21, lines = $22, length = $23, attempts = $24,
       failure = $25, failed_key = $26, failed_section = $27
 WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.snapshot_id = $4
   AND s.run = $5 AND s.state = $6 AND s.walking = $7 AND s.after_key = $8 AND s.after_section = $9
   AND s.after_sequence = $10 AND s.parts = $11 AND s.attempts = $12`

// move changes a snapshot's row, unless that isn't as it was found, and does
// something beside it in the same transaction. That the row is as it was found is
// known before anything else is written; then it is locked.
func (s *Service) move(ctx context.Context, was *snapshot, change func(next *snapshot, now time.Time), beside func(tx *tenancy.Tx, next *snapshot, now time.Time)) error {
	return tenancy.Run(ctx, s.router.Database(was.number), s.entry(was.tenant, was.number), func(ctx context.Context, tx *tenancy.Tx) error {
		var now time.Time
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		next := *was
		change(&next, now)
		moved := false
		tx.Queue(sqlMoveSnapshot, next.moveArgs(was)...).Exec(func(tag pgconn.CommandTag) error {
			moved = tag.RowsAffected() == 1
			return nil
		})
		if err := tx.Send(ctx); err != nil {
			return err
		}
		if !moved {
			return errStepMade
		}
		if beside != nil {
			beside(tx, &next, now)
		}
		return nil
	})
}

func (sn *snapshot) moveArgs(was *snapshot) []any {
	var endedAt *time.Time
	if sn.State != SnapshotRunning {
		endedAt = &sn.EndedAt
	}
	var sequence *int64
	if sn.State == SnapshotComplete {
		sequence = &sn.Sequence
	}
	var failure, key, section *string
	if f := sn.Failure; f != nil {
		failure, key, section = &f.Code, &f.Key, &f.Section
	}
	return []any{
		int16(was.number), was.of, was.ID,
		was.run, was.State, was.walking, was.afterKey, was.afterSection, was.afterSequence, was.Parts, was.attempts,
		sn.State, endedAt, sn.dueAt, sn.walking, sn.afterKey, sn.afterSection, sn.afterSequence, sequence,
		sn.Parts, sn.Lines, sn.Length, sn.attempts, failure, key, section,
	}
}
