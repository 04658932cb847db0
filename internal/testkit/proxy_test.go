package testkit_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// marks is a table behind proxies that anybody may write.
type marks struct {
	*testkit.Proxied
	pool  *pgxpool.Pool // through the proxy
	admin *pgxpool.Pool // around it
}

func newMarks(t *testing.T) marks {
	t.Helper()
	in := testkit.Databases(t, 1).Through(t)
	m := marks{in, in.Router(t, postgres.RoleAPI).Databases()[0].Pool, in.Admin(t, "data1")}
	if _, err := m.admin.Exec(t.Context(), `CREATE TABLE marks (mark text); GRANT INSERT ON marks TO PUBLIC`); err != nil {
		t.Fatal(err)
	}
	return m
}

// mark writes in a transaction of its own, all of it in one batch.
func (m marks) mark(ctx context.Context, text string) error {
	batch := &pgx.Batch{}
	batch.Queue("begin")
	batch.Queue("INSERT INTO marks VALUES ($1)", text)
	batch.Queue("commit")
	return m.pool.SendBatch(ctx, batch).Close()
}

func (m marks) found(t *testing.T, text string) (found bool) {
	t.Helper()
	err := m.admin.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM marks WHERE mark = $1)`, text).Scan(&found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestProxy_CutsOneCommit_BeforeItOrAfterIt(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	ways := map[string]func(){
		"prepared in the same breath": m.pool.Reset,
		"prepared long before": func() {
			if err := m.mark(t.Context(), "warm"); err != nil {
				t.Fatal(err)
			}
		},
	}
	for way, begin := range ways {
		begin()
		m.CutAfter(t, testkit.CommitOf("INSERT INTO marks"))
		if err := m.mark(t.Context(), way+", after"); err == nil || !m.found(t, way+", after") {
			t.Errorf("a commit %s, cut after it: %v, want an error and the commit", way, err)
		}
		begin()
		m.CutBefore(t, testkit.CommitOf("INSERT INTO marks"))
		if err := m.mark(t.Context(), way+", before"); err == nil || m.found(t, way+", before") {
			t.Errorf("a commit %s, cut before it: %v, want an error and no commit", way, err)
		}
	}
	if err := m.mark(t.Context(), "later"); err != nil || !m.found(t, "later") {
		t.Errorf("once no trap is set: %v", err)
	}
}

func TestProxy_CutsTheSimpleProtocolsCommitToo(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	m.CutAfter(t, testkit.CommitOf("INSERT INTO marks"))
	err := pgx.BeginFunc(t.Context(), m.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `INSERT INTO marks VALUES ('simple')`)
		return err
	})
	if err == nil || !m.found(t, "simple") {
		t.Errorf("cut after the commit: %v, want an error and the commit", err)
	}
}

func TestProxy_HeldConnectionGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	held := m.HoldBefore(t, testkit.CommitOf("INSERT INTO marks"))
	done := make(chan error, 1)
	go func() { done <- m.mark(t.Context(), "held") }()
	<-held.Met()
	if err := m.mark(t.Context(), "beside"); err != nil || !m.found(t, "beside") || m.found(t, "held") {
		t.Errorf("beside a held connection: %v", err)
	}
	held.Release()
	if err := <-done; err != nil || !m.found(t, "held") {
		t.Errorf("released: %v", err)
	}
}

func TestProxy_HeldTrafficOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	proxy := m.Proxy("data1")
	proxy.Hold(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.mark(ctx, "lost") }()
	cancel()
	if err := <-done; err == nil {
		t.Error("a caller that went away got through a proxy that holds everything")
	}
	proxy.Resume()
	if err := m.mark(t.Context(), "later"); err != nil || !m.found(t, "later") {
		t.Errorf("resumed: %v", err)
	}
}

func TestProxy_DownUntilItAccepts(t *testing.T) {
	t.Parallel()
	m := newMarks(t)
	if err := m.mark(t.Context(), "up"); err != nil {
		t.Fatal(err)
	}
	proxy := m.Proxy("data1")
	proxy.Refuse()
	if err := m.mark(t.Context(), "standing"); err != nil {
		t.Errorf("a connection that stood was refused: %v", err)
	}
	proxy.CutAll()
	for range 2 {
		if err := m.mark(t.Context(), "down"); err == nil {
			t.Error("a proxy that is down served")
		}
	}
	proxy.Accept()
	if err := m.mark(t.Context(), "back"); err != nil || m.found(t, "down") || !m.found(t, "back") {
		t.Errorf("back up: %v", err)
	}
}
