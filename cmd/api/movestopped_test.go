package main

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// I31: a process is stopped in the middle of a transaction, its numbers go to another
// server, and it goes on: it can neither read nor write what has moved.
func TestMove_AStoppedProcessThatGoesOnReachesNothingThatMoved(t *testing.T) {
	t.Parallel()
	network := testkit.Apart(t, 2).Through(t)
	s := stackOn(network.Installation, network.Settings(postgres.RoleAPI))
	m := newRelocation(t, network.Installation)
	m.addDatabase(t)

	stopped := s.spawn(t)
	owner := s.tenant(t, stopped, "acme", tenancy.TenantScopes()...)
	patient := holdfast.WithHTTPDoer(&http.Client{Timeout: time.Minute})
	old := &mover{t, connect(t, stopped, owner.key, holdfast.WithAttempts(1), patient)}
	away, home := m.worldOn(t, "data2"), m.worldOn(t, "data1")
	for _, world := range []string{away, home} {
		if _, err := old.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: world}); err != nil {
			t.Fatal(err)
		}
		if err := old.append(world, "before"); err != nil {
			t.Fatal(err)
		}
	}
	m.copy(t)

	trap := network.HoldBefore(t, testkit.CommitOf("INSERT INTO journal"))
	answered := make(chan error, 1)
	go func() { answered <- old.append(away, "halfway") }()
	select {
	case <-trap.Met():
	case err := <-answered:
		t.Fatalf("it went through: %v", err)
	}
	stopped.signal(syscall.SIGSTOP)
	m.closeDespite(t, stopped)
	m.arrive(t)
	stopped.signal(syscall.SIGCONT)
	trap.Release()
	if err := <-answered; !leavesOpen(err) && !holdfast.IsCode(err, "database_unavailable") {
		t.Errorf("the append that was under way: %v", err)
	}

	successor := s.spawn(t, "HOLDFAST_PLACEMENT="+m.placement)
	now := &mover{t, connect(t, successor, owner.key, holdfast.WithAttempts(1), patient)}
	for _, when := range []string{"closed where it was", "not even known there"} {
		old.expectShutOut(when, away)
		if when == "closed where it was" {
			m.clean(t)
		}
	}
	if err := old.append(home, "after"); err != nil {
		t.Errorf("what has not moved: %v", err)
	}
	if status, body := fetch(t, stopped.url+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz of the old process is %d %s", status, body)
	}
	// Nothing of it has come through, and whoever asked goes on elsewhere.
	now.expectEntries(away, "before")
	if err := now.append(away, "halfway"); err != nil {
		t.Errorf("asked again: %v", err)
	}
	now.expectEntries(away, "before", "halfway")
}

// worldOn is a world that will be on that database.
func (m *relocation) worldOn(t *testing.T, database string) string {
	t.Helper()
	for n := 0; ; n++ {
		if name := worldName(n); m.after.Placement[domain.NumberOf(name)] == database {
			return name
		}
	}
}

// closeDespite closes the numbers on data1 as the guide says where something holds
// them up: what is still under way when the wait is over is ended.
func (m *relocation) closeDespite(t *testing.T, stopped *running) {
	t.Helper()
	admin := m.installation.Admin(t, "data1")
	bounded, cancel := context.WithCancel(t.Context())
	closed := make(chan error, 1)
	go func() { closed <- postgres.CloseNumbers(bounded, m.router.Named("data1"), m.numbers) }()
	eventually(t, "closing waits for the stopped process", func() bool {
		var waits bool
		err := admin.QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted)`).Scan(&waits)
		return err == nil && waits
	})
	cancel()
	var busy postgres.NumbersBusyError
	if err := <-closed; !errors.As(err, &busy) || len(busy.Held) != 1 {
		t.Fatalf("closing: %v", err)
	}
	for _, pid := range busy.Held {
		if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, int32(pid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := postgres.CloseNumbers(t.Context(), m.router.Named("data1"), m.numbers); err != nil {
		t.Fatal(err)
	}
}

// mover is a caller of one process.
type mover struct {
	t *testing.T
	*holdfast.ClientWithResponses
}

func (m *mover) append(world, id string) error {
	_, err := m.AppendEntriesWithResponse(context.Background(), world, &holdfast.AppendEntriesParams{},
		holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: id, JSON: []byte(`{}`)}}})
	return err
}

func (m *mover) expectShutOut(when, world string) {
	m.t.Helper()
	if err := m.append(world, "from-beyond"); !holdfast.IsCode(err, "partition_unavailable") {
		m.t.Errorf("%s: it writes: %v", when, err)
	}
	if _, err := m.GetWorldWithResponse(m.t.Context(), world); !holdfast.IsCode(err, "partition_unavailable") {
		m.t.Errorf("%s: it reads the world: %v", when, err)
	}
	if _, err := m.ReadJournalWithResponse(m.t.Context(), world, &holdfast.ReadJournalParams{}); !holdfast.IsCode(err, "partition_unavailable") {
		m.t.Errorf("%s: it reads the journal: %v", when, err)
	}
}

func (m *mover) expectEntries(world string, want ...string) {
	m.t.Helper()
	page, err := m.ReadJournalWithResponse(m.t.Context(), world, &holdfast.ReadJournalParams{})
	if err != nil {
		m.t.Fatal(err)
	}
	var got []string
	for _, entry := range page.JSON200.Entries {
		if entry.EntryID != "" {
			got = append(got, entry.EntryID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Errorf("entries of %s (-want +got):\n%s", world, diff)
	}
}
