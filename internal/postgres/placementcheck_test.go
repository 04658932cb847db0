package postgres_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestCheckPlacement_RefusesWhatTheGatesDenyAndSaysWhere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sql    string // on data2
		change func(*postgres.Settings)
		want   []string // none for a placement that is well
	}{
		"as it was opened":       {},
		"closed for maintenance": {sql: `UPDATE number_gates SET state = 'closed'`},
		"another placement": {
			change: func(s *postgres.Settings) { s.Placement[3], s.Placement[60] = "data2", "data1" },
			want:   []string{"open on data2, and placed on data1: the numbers 60", "open on data1, and placed on data2: the numbers 3"},
		},
		"swapped databases": {
			change: func(s *postgres.Settings) { s.Data[0].URL, s.Data[1].URL = s.Data[1].URL, s.Data[0].URL },
			want:   []string{"open on data2, and placed on data1: the numbers 0-31", "open on data1, and placed on data2: the numbers 32-63"},
		},
		"numbers that no database has": {
			sql:  `DELETE FROM number_gates WHERE number > 40`,
			want: []string{"on no configured database, and placed on data2: the numbers 41-63"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installation := testkit.Databases(t, 2)
			if test.sql != "" {
				exec(t, installation, "data2", test.sql)
			}
			for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
				settings := installation.Settings(role)
				if test.change != nil {
					test.change(&settings)
				}
				err := postgres.CheckPlacement(t.Context(), open(t, settings))
				if (err != nil) != (test.want != nil) {
					t.Fatalf("%s: %v", role, err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "HOLDFAST_PLACEMENT") {
						t.Errorf("%s: %q isn't in %v", role, want, err)
					}
				}
			}
		})
	}
}
