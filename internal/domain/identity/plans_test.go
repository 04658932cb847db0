package identity

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// TestPlans_AreOnTheirKeys holds the statements that serve to their indexes, in
// the generic plan that a connection keeps for as long as it lives: on empty
// tables, and with rows that nobody has analyzed.
func TestPlans_AreOnTheirKeys(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	statements := map[string]string{ // and the last column that the index must be searched by
		sqlReadClaims:         "key",
		sqlReadAccounts:       "account_id",
		sqlReadDevices:        "device_id",
		sqlReadOperations:     "record_id",
		sqlLockOperations:     "record_id",
		sqlDemandCreated:      "account_id",
		sqlClearPrepared:      "record_id",
		sqlAbort:              "record_id",
		sqlFinalize:           "record_id",
		sqlRelease:            "key",
		sqlLockAccounts:       "account_id",
		sqlPatchAccount:       "account_id",
		sqlEntomb:             "account_id",
		sqlLockStanding:       "record_id",
		sqlEndEmailChange:     "account_id",
		sqlReadEmailChange:    "account_id",
		sqlShowEmailChange:    "account_id",
		sqlLockEmailChanges:   "account_id",
		sqlCancelEmailChange:  "account_id",
		sqlCountWrongCode:     "account_id",
		sqlVerifyEmail:        "account_id",
		sqlChangeEmail:        "account_id",
		sqlRemoveEmail:        "account_id",
		sqlDemandRevision:     "account_id",
		sqlDemandOperation:    "record_id",
		sqlDemandDecided:      "record_id",
		sqlMarkCommitted:      "record_id",
		sqlRemovedDevices:     "revision",
		sqlDemandCleared:      "record_id",
		sqlLockDevice:         "device_id",
		sqlLockDevices:        "device_id",
		sqlDemandDevice:       "device_id",
		sqlPatchDevice:        "device_id",
		sqlRevokeDevice:       "device_id",
		sqlApproveDevice:      "device_id",
		sqlDenyDevice:         "device_id",
		sqlPaceDevice:         "device_id",
		sqlRedeemDevice:       "device_id",
		sqlRotateRefresh:      "device_id",
		sqlDemandRefresh:      "device_id",
		sqlConfirmLink:        "device_id",
		sqlAccountLinks:       "device_id",
		sqlLockGuesses:        "subject",
		sqlRefundGuess:        "subject",
		sqlClaimsOfOwners:     "owner_id",
		sqlWriteEvents:        "number", // of the counter
		sqlDoubtLink:          "device_id",
		sqlDropLink:           "device_id",
		sqlDropDoubtful:       "device_id",
		sqlRemoveDevice:       "device_id",
		sqlDemandRemoved:      "device_id",
		sqlEndQuarantine:      "account_id",
		sqlNoteDevicesRemoved: "account_id",
		sqlRemoveTombstone:    "account_id",
		sqlRemoveChange:       "account_id",
		sqlRemoveGuesses:      "subject",
		sqlRemoveEvents:       "sequence",
		sqlReadHistory:        "revision",
		sqlHasHistory:         "revision",
		sqlStreamEnds:         "number",
		sqlReadStreams:        "sequence",
	}
	check := func(when string) {
		for sql, column := range statements {
			if plan := d.genericPlan(t, sql); !onIndex(plan, column) {
				t.Errorf("%s:%s\nis planned as\n%s\nwant an index searched by %s", when, sql, plan, column)
			}
		}
	}
	check("on empty tables")
	race(d, 60, func(i int) (string, string) { return numbered("a-%d", i), numbered("a-%d@example.com", i) })
	client := d.client()
	for i := range 20 {
		d.authorize(t, client, numbered("tv-%d", i))
	}
	check("with some rows")
	d.everywhere(t, `ANALYZE`)
	check("with some rows, analyzed")
}

// onIndex tells that the plan has the column among an index's conditions (with >
// where it goes on behind a place, with <= where it goes up to one), and reads no
// table from end to end.
func onIndex(plan, column string) bool {
	condition := regexp.MustCompile(`Index Cond: .*\b` + column + ` (=|>|<=) `)
	return condition.MatchString(plan) && !strings.Contains(plan, "Seq Scan")
}

func (d *directory) genericPlan(t *testing.T, sql string) string {
	t.Helper()
	var plan []string
	err := pgx.BeginFunc(t.Context(), d.router.Databases()[0].Pool, func(tx pgx.Tx) error {
		described, err := tx.Conn().Prepare(t.Context(), "", sql)
		if err != nil {
			return err
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(described.ParamOIDs)), ", ")
		for _, s := range []string{"SET LOCAL plan_cache_mode = force_generic_plan", "PREPARE planned AS " + sql} {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		rows, _ := tx.Query(t.Context(), fmt.Sprintf("EXPLAIN EXECUTE planned (%s)", nulls), pgx.QueryExecModeSimpleProtocol)
		plan, err = pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), "DEALLOCATE planned")
		return err
	})
	if err != nil {
		t.Fatalf("%s: %s: %v", postgres.RoleAPI, sql, err)
	}
	return strings.Join(plan, "\n")
}
