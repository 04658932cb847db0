package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	worldlog "github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// docs/fleet.md from its beginning to its end, on two servers, under traffic: a
// database is added, half of the numbers move to it, and whatever was acknowledged,
// before, meanwhile and afterwards, is there.
func TestMove_NumbersGoToAnotherServerUnderTraffic(t *testing.T) {
	t.Parallel()
	installation := testkit.Apart(t, 2)
	s := stackOn(installation, installation.Settings(postgres.RoleAPI))
	both := s.env["HOLDFAST_DATA_URLS"]
	alone, _, _ := strings.Cut(both, " ")

	first := s.spawn(t, "HOLDFAST_DATA_URLS="+alone, "HOLDFAST_PLACEMENT=data1=0-63")
	f := newTraffic(t, s, first)
	f.begin(t)
	defer f.abandon()
	f.flows(t, "on one database", 30)

	m := newRelocation(t, installation)
	m.addDatabase(t)
	second := s.spawn(t)
	f.goTo(second)
	expectEnd(t, first)
	f.flows(t, "with a database more", 30)

	m.copy(t)
	f.flows(t, "while numbers are followed", 60)
	if err := postgres.CloseNumbers(t.Context(), m.router.Named("data1"), m.numbers); err != nil {
		t.Fatal(err)
	}
	f.stalls(t, 12)
	third := s.spawn(t, "HOLDFAST_PLACEMENT="+m.placement)
	f.goTo(third)
	expectEnd(t, second)
	f.stalls(t, 12)
	m.arrive(t)
	f.flows(t, "behind the move", 60)
	f.end()
	m.clean(t)

	f.askAgain(t)
	expectMoved(t, m)
	expectWhole(t, m, f)
	err := run(t.Context(), s.environ(), s.fetch, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "open on data2, and placed on data1: the numbers "+movedNumbers) {
		t.Errorf("a process with the old placement: %v", err)
	}
}

func expectEnd(t *testing.T, r *running) {
	t.Helper()
	if err := r.stop(); err != nil {
		t.Errorf("the API ended with %v\n%s", err, r.log)
	}
}

// expectMoved says that each row is where its number is, and each number open once.
func expectMoved(t *testing.T, m *relocation) {
	t.Helper()
	for _, db := range m.router.Databases() {
		admin := m.installation.Admin(t, db.Name)
		tables, _ := admin.Query(t.Context(), `SELECT t::text FROM moving_tables() t`)
		names, err := pgx.CollectRows(tables, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, table := range names {
			var here, astray int
			sql := fmt.Sprintf(`SELECT count(*), count(*) FILTER (WHERE number <> ALL ($1)) FROM %s`, table)
			if err := admin.QueryRow(t.Context(), sql, smallints(db.Numbers)).Scan(&here, &astray); err != nil || astray > 0 {
				t.Errorf("%s of %s has %d rows of other numbers, %v", table, db.Name, astray, err)
			}
			rows += here
		}
		gates, err := postgres.ReadGates(t.Context(), db.Pool)
		var open []domain.Number
		for _, gate := range gates {
			if gate.State == "open" {
				open = append(open, gate.Number)
			}
		}
		if err != nil || rows == 0 || len(gates) != len(open) || postgres.FormatNumbers(open) != postgres.FormatNumbers(db.Numbers) {
			t.Errorf("%s has %d rows and the gates %v, %v", db.Name, rows, gates, err)
		}
		var lax int
		err = admin.QueryRow(t.Context(), `SELECT count(*) FROM moving_tables() t JOIN pg_class c ON c.oid = t WHERE NOT c.relforcerowsecurity`).Scan(&lax)
		if err != nil || lax > 0 {
			t.Errorf("%d tables of %s don't force row-level security, %v", lax, db.Name, err)
		}
	}
}

func smallints(numbers []domain.Number) (list []int16) {
	for _, n := range numbers {
		list = append(list, int16(n))
	}
	return list
}

// expectWhole runs the operators' checks.
func expectWhole(t *testing.T, m *relocation, f *traffic) {
	t.Helper()
	settings := m.after
	settings.Role, settings.Password = postgres.RoleWorker, m.installation.Settings(postgres.RoleWorker).Password
	router := openRouter(t, settings)
	tenant, err := domain.ParseID[domain.TenantKind](f.customer.id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	accounts, err := identity.New(router, nil, identity.Options{}).Check(ctx, tenant, func(v identity.Violation) error {
		t.Errorf("the check of identities finds %+v", v)
		return nil
	})
	if err != nil || accounts.Events == 0 {
		t.Errorf("the check of identities counts %+v, %v", accounts, err)
	}
	worlds := lease.New(router, nil, lease.Options{})
	entries, err := worlds.Check(ctx, tenant, worldlog.Keys{}, func(v lease.Violation) error {
		t.Errorf("the check of journals finds %+v", v)
		return nil
	})
	if err != nil || entries.Entries == 0 {
		t.Errorf("the check of journals counts %+v, %v", entries, err)
	}
	records, err := record.New(router, worlds, nil, record.Options{}).Check(ctx, tenant, record.Checking{Bodies: true, Found: func(v record.Violation) error {
		t.Errorf("the check of records finds %+v", v)
		return nil
	}})
	if err != nil || records.Records == 0 {
		t.Errorf("the check of records counts %+v, %v", records, err)
	}
}
