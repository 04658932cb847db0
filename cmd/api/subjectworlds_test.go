package main

import (
	"encoding/json"
	"fmt"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// validOnWorlds gives a request to an operation on worlds, leases or journals what
// it needs to succeed. It tells whether it knows the operation.
func (s *subject) validOnWorlds(t testing.TB, x *exchange, n int64, body func(string)) bool {
	t.Helper()
	switch x.op.operation.OperationID {
	case "createWorld":
		body(`{"world_id":"created-$n","advise_spill":false}`)
	case "listWorlds":
		x.query = "limit=2"
	case "getWorld", "getTenantLease", "checkAppend", "getCheckpoint", "getCheckpointKeys", "getHeat":
	case "getLease":
		x.query = "position=1"
	case "readJournal":
		x.query = "after=0&limit=2"
	case "streamJournal":
		x.query = "after=0"
		x.header.Set("Last-Event-ID", "1")
	case "deleteWorld":
		x.path["world_id"] = s.newWorld(t, fmt.Sprint("short-lived-", n))
	case "appendEntries":
		body(`{"entries":[{"entry_id":"entry-$n","json":{"turn":[1,"x",null]}},{"payload":"aGVsbG8="}]}`)
	case "acquireLease":
		x.path["world_id"] = s.newWorld(t, fmt.Sprint("free-", n))
		body(`{"request_id":"request-$n","term_seconds":60,"activate_within_seconds":90,"wait_seconds":1,"takeover":true}`)
	case "activateLease":
		grant := s.heldWorld(t, x, n)
		body(fmt.Sprintf(`{"replayed_position":%d,"chain_hash":"%s"}`, grant.HandoffPosition, s.hashAt(t, grant.WorldID, grant.HandoffPosition)))
	case "renewLease":
		s.heldWorld(t, x, n)
	case "handOffLease":
		s.heldWorld(t, x, n)
		body(`{"to":"coordinator"}`)
	case "revokeLease", "revokeTenantLease":
		grant := s.heldWorld(t, x, n)
		body(fmt.Sprintf(`{"epoch":%d,"renewed_position":%d,"reason":"It hangs."}`, grant.Epoch, grant.HandoffPosition))
	case "renewLeases":
		grant := s.heldWorld(t, x, n)
		body(fmt.Sprintf(`{"renewals":[{"world_id":"%s","epoch":%d,"secret":"%s"}]}`, grant.WorldID, grant.Epoch, grant.Secret))
	default:
		return false
	}
	return true
}

// heldWorld makes a world whose lease the owner has acquired, for long, and puts
// both into the request.
func (s *subject) heldWorld(t testing.TB, x *exchange, n int64) holdfast.LeaseGrant {
	t.Helper()
	world := s.newWorld(t, fmt.Sprint("held-", n))
	acquired, err := connect(t, s.api, s.owner.key).AcquireLeaseWithResponse(t.Context(), world,
		holdfast.LeaseRequest{RequestID: "r", TermSeconds: ptr(int64(600)), ActivateWithinSeconds: ptr(int64(600))})
	if err != nil {
		t.Fatal(err)
	}
	x.path["world_id"] = world
	for _, p := range x.op.parameters() {
		if p.Value.Name == "Holdfast-Lease" {
			x.header.Set("Holdfast-Lease", presented(*acquired.JSON200))
		}
	}
	return *acquired.JSON200
}

// presented is a lease as the header has it.
func presented(grant holdfast.LeaseGrant) string { return fmt.Sprint(grant.Epoch, ".", grant.Secret) }

func (s *subject) newWorld(t testing.TB, id string) string {
	t.Helper()
	made, err := connect(t, s.api, s.owner.key).CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: id})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.WorldID
}

func (s *subject) hashAt(t testing.TB, world string, position int64) string {
	t.Helper()
	x := s.request(t, "readJournal")
	x.path["world_id"], x.query = world, fmt.Sprintf("after=%d&limit=1", position-1)
	s.send(t, x)
	var page holdfast.JournalPage
	if err := json.Unmarshal(x.answer, &page); err != nil || len(page.Entries) != 1 {
		t.Fatalf("%d %s", x.status, x.answer)
	}
	return page.Entries[0].Hash
}

// request gives a valid request to an operation.
func (s *subject) request(t testing.TB, operation string) *exchange {
	t.Helper()
	for _, op := range loadSpec(t).operations {
		if op.operation.OperationID == operation {
			return s.valid(t, op)
		}
	}
	t.Fatalf("there is no %s", operation)
	return nil
}
