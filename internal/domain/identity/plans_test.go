package identity

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
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
			if plan := testkit.GenericPlan(t, d.router.Databases()[0].Pool, sql); !testkit.OnIndex(plan, column) {
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
