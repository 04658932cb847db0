package migration

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ProcessID names one life of a process.
type ProcessID = domain.ID[Process]

// Process is an API or a worker that is alive, as it reports itself.
type Process struct {
	ID         ProcessID
	Kind       ProcessKind
	Build      string
	Formats    []int16 // of records, that it reads and writes; ascending
	StartedAt  time.Time
	ReportedAt time.Time // by the control database's clock; Report sets it
}

// ProcessKind is what a process is for.
type ProcessKind string

const (
	ProcessAPI    ProcessKind = "api"
	ProcessWorker ProcessKind = "worker"
)

const (
	reportEvery = 10 * time.Second
	// A process counts as alive for liveFor from its last report on, and its row is
	// removed when it has said nothing for forgetAfter.
	liveFor     = time.Minute
	forgetAfter = 10 * time.Minute
)

// This is the process that runs, of a kind. Each call begins a new life.
func (s *Service) This(kind ProcessKind) Process {
	now := time.Now()
	return Process{ID: domain.NewID[Process](now), Kind: kind, Build: s.build, Formats: tenancy.KnownRecordFormats(), StartedAt: now}
}

// sqlReport reckons back from the database's clock by how long the process has run,
// since the clocks of machines lie apart. The first report's start stays.
const sqlReport = `
INSERT INTO deployments AS d (process_id, process, build, formats, started_at, reported_at)
SELECT $1, $2, $3, $4, now - $5::interval, now FROM (SELECT clock_timestamp() AS now) c
ON CONFLICT (process_id) DO UPDATE SET reported_at = excluded.reported_at`

// sqlForget removes rows of processes that ended without a word. What another report
// is removing is left to it, so that no two wait for each other.
const sqlForget = `
DELETE FROM deployments WHERE process_id IN (
       SELECT d.process_id FROM deployments d WHERE d.reported_at < clock_timestamp() - $1::interval
          FOR UPDATE SKIP LOCKED)`

// Report says that a process is alive.
//
// Errors: unavailable, outcome unknown; the next report makes up for both.
func (s *Service) Report(ctx context.Context, p Process) error {
	return s.control.ControlTx(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlReport, p.ID, p.Kind, p.Build, p.Formats, time.Since(p.StartedAt))
		batch.Queue(sqlForget, forgetAfter)
		return tx.SendBatch(ctx, batch).Close()
	})
}

const sqlDeployments = `
SELECT process_id, process, build, formats, started_at, reported_at
  FROM deployments WHERE reported_at >= clock_timestamp() - $1::interval
 ORDER BY process, started_at, process_id`

// Deployments are the processes that are alive: the API's first, and of each kind
// the one that has run longest.
//
// Errors: unavailable.
func (s *Service) Deployments(ctx context.Context) (live []Process, err error) {
	err = s.control.ControlRead(ctx, tenancy.Operators, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlDeployments, liveFor)
		live, err = pgx.CollectRows(rows, scanProcess)
		return err
	})
	return live, err
}

func scanProcess(row pgx.CollectableRow) (p Process, err error) {
	err = row.Scan(&p.ID, &p.Kind, &p.Build, &p.Formats, &p.StartedAt, &p.ReportedAt)
	p.StartedAt, p.ReportedAt = p.StartedAt.UTC(), p.ReportedAt.UTC()
	return p, err
}
