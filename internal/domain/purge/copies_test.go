package purge

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// copied leaves a copy of a number on a database, with rows of these tenants.
func (s *scene) copied(t *testing.T, database string, number domain.Number, tenants ...domain.TenantID) {
	t.Helper()
	exec(t, s.admin[database], `INSERT INTO number_gates (number, state, record_format, lease_rules) VALUES ($1, 'copy', 1, 1)`, int16(number))
	for _, tenant := range tenants {
		s.fill(t, database, tenant, filling{"journal", number, 2})
	}
}

// The rows that a move has copied, or not yet cleaned away, are no pass's: there is no
// tombstone before they are gone.
func TestPurge_WaitsForTheCopiesOfAMove(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	neighbour, tenant, w := s.tenant(t), s.doomed(t), s.worker(t)
	had := s.rowsOf(t, tenant)
	first := s.data[0].Numbers
	s.copied(t, s.data[1].Name, first[0], neighbour)         // of which the tenant has none
	s.copied(t, s.data[1].Name, first[3], neighbour, tenant) // of which it has two rows

	s.expectCopiesLeft(t, w, tenant)
	if left := s.rowsOf(t, tenant); len(left) != 1 || left["journal"] != 2 {
		t.Errorf("left are %v, want the two copies", left)
	}
	exec(t, s.admin[s.data[1].Name], `DELETE FROM journal WHERE tenant_id = $1`, tenant)
	s.finish(t, w, tenant)
	s.expectGone(t, tenant, had, 3, 2)
}

// A database whose numbers have all moved away may still have their rows.
func TestPurge_WaitsForCopiesOnADatabaseWithoutNumbers(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2)
	tenant := s.doomed(t)
	full, emptied := s.data[0], s.data[1]
	exec(t, s.admin[emptied.Name], `UPDATE number_gates SET state = 'copy'`)
	settings := s.in.Settings(postgres.RoleWorker)
	for number := range settings.Placement {
		settings.Placement[number] = full.Name
		exec(t, s.admin[full.Name], `INSERT INTO number_gates (number, state, record_format, lease_rules) VALUES ($1, 'open', 1, 1) ON CONFLICT DO NOTHING`, number)
	}
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	w := s.service(router, s.bucket)

	s.expectCopiesLeft(t, w, tenant)
	for _, table := range s.tables[emptied.Name] {
		exec(t, s.admin[emptied.Name], `DELETE FROM `+table+` WHERE tenant_id = $1`, tenant)
	}
	s.finish(t, w, tenant)
	if left := s.rowsOf(t, tenant); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// expectCopiesLeft goes on until the purge stalls.
func (s *scene) expectCopiesLeft(t *testing.T, w *Service, tenant domain.TenantID) {
	t.Helper()
	var err error
	for err == nil && s.progress(t, tenant).PurgedAt.IsZero() {
		var more bool
		if more, err = w.Step(t.Context(), tenant); !more {
			s.clock.advance(DefaultSettle)
		}
	}
	expectCode(t, err, domain.KindConflict, "copies_left")
	if p := s.progress(t, tenant); p.Stalled != "copies_left" || p.Step != stepCounts {
		t.Errorf("the progress is %+v", p)
	}
}
