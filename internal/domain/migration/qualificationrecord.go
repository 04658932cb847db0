package migration

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const sqlRecordQualification = `
INSERT INTO qualifications (report_hash, build, passed, report, qualified_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (report_hash) DO NOTHING`

// RecordQualification keeps a report, a failed one too, and gives the hash that
// plans name it by. A report that is there already stays as it is.
//
// Errors: unavailable, outcome unknown: recording it again is harmless.
func (s *Service) RecordQualification(ctx context.Context, q Qualification) (Hash, error) {
	text, err := q.Canonical()
	if err != nil {
		return Hash{}, err
	}
	hash := sum(text)
	return hash, s.control.ControlTx(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlRecordQualification, hash[:], q.Build, q.Passed, string(text), q.EndedAt)
		return err
	})
}

const sqlQualification = `SELECT q.report FROM qualifications q WHERE q.report_hash = $1`

var errNoQualification = domain.NotFound("qualification_not_found", "There is no qualification of this hash.")

// Qualification gives a report, which is held to its hash.
//
// Errors: not found qualification_not_found; unavailable.
func (s *Service) Qualification(ctx context.Context, hash Hash) (q Qualification, err error) {
	var text string
	err = s.control.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, sqlQualification, hash[:]).Scan(&text)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoQualification
		}
		return err
	})
	if err != nil {
		return Qualification{}, err
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return Qualification{}, err
	}
	if again, err := q.Canonical(); err != nil || string(again) != text || sum(again) != hash {
		return Qualification{}, errors.Join(errNotOneself, err)
	}
	return q, nil
}

// Qualified is a report by what finds it.
type Qualified struct {
	Hash   Hash
	Build  string
	Passed bool
	At     time.Time
}

// maxQualifications are listed at once.
const maxQualifications = 100

const sqlQualifications = `
SELECT q.report_hash, q.build, q.passed, q.qualified_at FROM qualifications q
 WHERE $1 = '' OR q.build = $1 ORDER BY q.qualified_at DESC, q.report_hash LIMIT $2`

// Qualifications are the latest reports of a build, or with "" of all, at most a
// hundred of them, the last one first.
//
// Errors: unavailable.
func (s *Service) Qualifications(ctx context.Context, build string) (all []Qualified, err error) {
	err = s.control.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlQualifications, build, maxQualifications)
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (q Qualified, err error) {
			var hash []byte
			err = row.Scan(&hash, &q.Build, &q.Passed, &q.At)
			copy(q.Hash[:], hash)
			q.At = q.At.UTC()
			return q, err
		})
		return err
	})
	return all, err
}

var (
	errNotQualified = domain.Conflict("qualification_missing",
		"There is no qualification of this hash. Run \"holdfast qualify\" with this build, and name the hash that it prints.")
	errQualificationFailed = domain.Conflict("qualification_failed",
		"The qualification didn't pass. Look at its observations, mend what they name, and qualify again.")
	errQualificationDiffers = domain.Conflict("qualification_differs",
		"The qualification is of another build, or of other databases or another bucket than this process works with. Qualify this build here.")
)

// byName are databases in the order that a report and a packet have.
func byName(databases []Database) []Database {
	return slices.SortedFunc(slices.Values(databases), func(a, b Database) int { return cmp.Compare(a.Name, b.Name) })
}

// demandQualification gives the report of a hash if it is proof for what this
// process works with.
//
// Errors: conflict qualification_missing, qualification_failed,
// qualification_differs; unavailable.
func (s *Service) demandQualification(ctx context.Context, hash Hash, runtime Runtime) (Qualification, error) {
	q, err := s.Qualification(ctx, hash)
	switch {
	case errors.Is(err, errNoQualification):
		return Qualification{}, errNotQualified
	case err != nil:
		return Qualification{}, err
	case q.Type != QualificationType, !q.Passed:
		return Qualification{}, errQualificationFailed
	case q.Build != runtime.Build, q.Store != runtime.Store, !slices.Equal(q.Databases, byName(runtime.Databases)):
		return Qualification{}, errQualificationDiffers
	}
	return q, nil
}
