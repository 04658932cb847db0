package tenancy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Purpose is what a domain transaction is for. The table in enter says which
// state of a gate admits which.
type Purpose string

const (
	Serve    Purpose = "serve"    // reads and writes of an open tenant
	Maintain Purpose = "maintain" // imports, sweeps and cleanup, whether its namespace is open or still importing
	Export   Purpose = "export"   // reads; of a suspended tenant too, and of one that is being deleted
	Purge    Purpose = "purge"    // deletes all that a tenant has, whose grace is over
	Move     Purpose = "move"     // numbers that are closed
)

// What this process knows of rules that a data database may require.
const (
	knownRecordFormat = RecordsInObjects
	knownLeaseRules   = 1
)

// KnownRecordFormats are the formats of records that this process reads and writes,
// ascending.
func KnownRecordFormats() []int16 { return []int16{RecordsInSQL, knownRecordFormat} }

// Entry names what a domain transaction touches.
type Entry struct {
	Tenant   domain.TenantID
	Numbers  []domain.Number // distinct, all of one database
	Purpose  Purpose
	Layout   string // domain.Layout where the identity domain is touched, else ""
	ReadOnly bool
	// Unsynced doesn't wait for the disk, nor for a standby. A crash of the
	// database may lose the transaction while this process lives on. So it is for
	// what is looked for again, and missed, before anything that was promised
	// rests on it.
	Unsynced bool
}

// Tx is a domain transaction: one tenant's, on one database. The tenant rides on
// it and goes ahead of every statement's arguments, so a query can't be written
// without it.
//
// Statements are queued and sent together. begin and enter go ahead of the
// first Send, and commit goes behind the last one, so a transaction that queues
// everything at once costs one round trip.
type Tx struct {
	entry Entry
	conn  *pgxpool.Conn
	batch *pgx.Batch
}

// Run enters the gates on db, calls fn, sends what fn left queued, and commits.
// An error from fn, or from any statement, rolls everything back.
//
// What is left queued when fn returns goes out in one round trip with the
// commit, so its callbacks may read rows but can no longer stop the commit. A
// statement whose count is a guard must be sent, and the count be looked at,
// before fn returns.
//
// Errors: the gates' refusals (forbidden or unavailable), unavailable when the
// database can't be reached or is too busy, outcome unknown when the connection
// was lost on a commit that wrote.
func Run(ctx context.Context, db *postgres.Database, entry Entry, fn func(ctx context.Context, tx *Tx) error) error {
	ctx, span := startTx(ctx, entry.Tenant, db.Name, entry.Purpose)
	err := run(ctx, db, entry, fn)
	endTx(span, err)
	return err
}

func run(ctx context.Context, db *postgres.Database, entry Entry, fn func(ctx context.Context, tx *Tx) error) error {
	turn, err := db.Turns.Take(ctx, entry.Tenant)
	if err != nil {
		return postgres.Classify(err)
	}
	defer turn.End()
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return postgres.Classify(err)
	}
	// A connection that is still inside a transaction is closed by Release, and
	// so never reaches the next caller.
	defer conn.Release()

	tx := &Tx{entry: entry, conn: conn, batch: beginBatch(entry)}
	defer tx.rollback(ctx)
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.commit(ctx)
}

const sqlEnter = `SELECT enter($1, $2, $3, $4, $5, $6, $7)`

func beginBatch(entry Entry) *pgx.Batch {
	begin := "begin"
	if entry.ReadOnly {
		begin = "begin read only"
	}
	numbers := make([]int16, len(entry.Numbers))
	for i, n := range entry.Numbers {
		numbers[i] = int16(n)
	}
	var layout *string
	if entry.Layout != "" {
		layout = &entry.Layout
	}
	batch := &pgx.Batch{}
	batch.Queue(begin)
	if entry.Purpose == Restore {
		batch.Queue(sqlEnterRestore, entry.Tenant, numbers, knownRecordFormat, knownLeaseRules)
		return batch
	}
	batch.Queue(sqlEnter, entry.Tenant, numbers, string(entry.Purpose), layout, knownRecordFormat, knownLeaseRules, entry.Unsynced)
	return batch
}

// Tenant is whose transaction it is.
func (tx *Tx) Tenant() domain.TenantID { return tx.entry.Tenant }

// Queue adds a statement. $1 is the tenant; args begin at $2.
func (tx *Tx) Queue(sql string, args ...any) *pgx.QueuedQuery {
	all := make([]any, 0, len(args)+1)
	all = append(all, tx.entry.Tenant)
	return tx.batch.Queue(sql, append(all, args...)...)
}

// Send sends what is queued and calls the callbacks.
func (tx *Tx) Send(ctx context.Context) error {
	if tx.batch.Len() == 0 {
		return nil
	}
	batch := tx.batch
	tx.batch = &pgx.Batch{}
	return gateError(postgres.Classify(tx.conn.SendBatch(ctx, batch).Close()))
}

const sqlNow = `SELECT clock_timestamp() WHERE $1::uuid IS NOT NULL`

// QueueNow reads the database's clock, which is the one that decides terms and
// deadlines. Queue it behind the statement that takes the locks.
func (tx *Tx) QueueNow(now *time.Time) {
	tx.Queue(sqlNow).QueryRow(func(row pgx.Row) error { return row.Scan(now) })
}

func (tx *Tx) commit(ctx context.Context) error {
	var outcome pgconn.CommandTag
	tx.batch.Queue("commit").Exec(func(tag pgconn.CommandTag) error { outcome = tag; return nil })
	err := tx.conn.SendBatch(ctx, tx.batch).Close()
	switch {
	case err == nil && outcome.String() != "COMMIT":
		return fmt.Errorf("commit answered %q", outcome)
	case err == nil:
		return nil
	case tx.entry.ReadOnly:
		return gateError(postgres.Classify(err))
	default:
		return gateError(postgres.CommitFailed(err))
	}
}

// rollback ends a transaction that did not commit, even for a caller that has
// gone, so that its locks are free at once.
func (tx *Tx) rollback(ctx context.Context) {
	if tx.conn.Conn().IsClosed() || tx.conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	tx.conn.Exec(ctx, "rollback") // on failure Release closes the connection, which rolls back too
}

// gateError gives enter's refusals their kinds.
func gateError(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case "HF001", "HF002":
		return domain.Unavailable("partition_unavailable",
			"A partition that the request needs is being moved or is closed for now. Try again.").After(5 * time.Second).Because(pg)
	case "HF003":
		return domain.Unavailable("process_outdated",
			"This server is older than the data it was asked for. Try again.").After(time.Second).Because(pg)
	case "HF004":
		return domain.Forbidden("tenant_closed", "The tenant is not open.").Because(pg)
	case "HF005":
		return domain.Forbidden("tenant_suspended", "The tenant is suspended. Ask its operator to resume it.").Because(pg)
	case "HF006":
		return domain.Forbidden("layout_unknown",
			"The tenant's namespace has a layout that this server does not serve.").Because(pg)
	case "HF007":
		return domain.Forbidden("namespace_importing",
			"The tenant's namespace is still being imported. It opens when its operator has verified the import.").Because(pg)
	case "HF009":
		return domain.Forbidden("tenant_deleting", "The tenant is being deleted. Its operator can call that off until its grace is over.").Because(pg)
	default:
		return err
	}
}
