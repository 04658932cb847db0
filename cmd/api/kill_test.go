package main

import (
	"context"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func TestKill_AtEveryStepOfACreation(t *testing.T) {
	t.Parallel()
	killAtEveryStep(t, creation())
}

func creation() work {
	claimed := remains{operations: "prepared", claims: 2}
	return work{
		handle: "data2", email: "data3", // of the two claims one is held, and the other goes through
		begin: func(*holdfast.ClientWithResponses, *scene) error { return nil },
		do: func(client *holdfast.ClientWithResponses, s *scene) error {
			_, err := client.CreateAccountWithResponse(context.Background(), nil, withEmail(s.handle, s.email))
			return err
		},
		steps: []step{
			{"prepare", "INSERT INTO operations", remains{}, remains{operations: "prepared"}},
			{"claim", "INSERT INTO claims", remains{operations: "prepared", claims: 1}, claimed},
			{"commit's lock", "FOR UPDATE) o", claimed, claimed},
			{"commit", "INSERT INTO accounts", claimed, remains{accounts: "active", claims: 2}},
		},
	}
}

func TestKill_AtEveryStepOfARefusedCreation(t *testing.T) {
	t.Parallel()
	claimed := remains{accounts: "active", operations: "prepared", claims: 3}
	aborted := remains{accounts: "active", operations: "aborted", claims: 3}
	released := remains{accounts: "active", operations: "aborted", claims: 2}
	killAtEveryStep(t, work{
		handle: "data2", email: "data2", // released together
		begin: func(client *holdfast.ClientWithResponses, s *scene) error {
			_, err := client.CreateAccountWithResponse(context.Background(), nil, withEmail("earlier", s.email))
			return err
		},
		do: creation().do,
		steps: []step{
			{"abort", "SET state = 'aborted'", claimed, aborted},
			// An attempt at once, before, gave its claims back as "claims AS c".
			{"release", "DELETE FROM claims\n", aborted, released},
			{"finalize", "state <> 'prepared'", released, remains{accounts: "active", claims: 2}},
		},
	})
}

func TestKill_AtEveryStepOfADeletion(t *testing.T) {
	t.Parallel()
	entombed := remains{accounts: "deleted", operations: "committed", claims: 2}
	released := remains{accounts: "deleted", operations: "committed", claims: 1}
	killAtEveryStep(t, work{
		handle: "data2", email: "data3",
		begin: func(client *holdfast.ClientWithResponses, s *scene) error {
			made, err := client.CreateAccountWithResponse(context.Background(), nil, withEmail(s.handle, s.email))
			if err == nil {
				s.account = made.JSON201.ID
			}
			return err
		},
		do: func(client *holdfast.ClientWithResponses, s *scene) error {
			_, err := client.DeleteAccountWithResponse(context.Background(), s.account, &holdfast.DeleteAccountParams{IfMatch: ptr(`"1"`)})
			return err
		},
		steps: []step{
			{"tombstone", "status = 'deleted', email = NULL", remains{accounts: "active", claims: 2}, entombed},
			{"release", "DELETE FROM claims", entombed, released},
			{"finalize", "state <> 'prepared'", released, remains{accounts: "deleted", claims: 1}},
		},
	})
}

// A claim that was still on its way when its process died, and arrives when what
// the process left has been cleared.
func TestKill_AClaimThatArrivesAfterTheRecoveryIsNobodys(t *testing.T) {
	t.Parallel()
	k, s, other := claimTooLate(t, creation())
	k.expectUsable(t, other, s)
	k.directory.recover(t)
	k.directory.check(t, "at the end", true)
}

// And one that the request meets which repeats its own: it is no better than
// anybody else's.
func TestKill_AClaimThatArrivesBeforeTheRepetitionIsNoneOfIts(t *testing.T) {
	t.Parallel()
	key := &holdfast.CreateAccountParams{IdempotencyKey: ptr("once")}
	w := creation()
	w.do = func(client *holdfast.ClientWithResponses, s *scene) error {
		_, err := client.CreateAccountWithResponse(context.Background(), key, withEmail(s.handle, s.email))
		return err
	}
	k, s, other := claimTooLate(t, w)
	client := k.client(t, other, s)
	made, err := client.CreateAccountWithResponse(t.Context(), key, withEmail(s.handle, s.email))
	if err != nil {
		t.Fatal(err)
	}
	for _, lookup := range []holdfast.LookupKey{{Handle: &s.handle}, {Email: &s.email}} {
		if found, err := client.LookupAccountWithResponse(t.Context(), lookup); err != nil || found.JSON200.ID != made.JSON201.ID {
			t.Errorf("%s was made, and looking it up by %s gives %v", made.JSON201.ID, nameOf(lookup), err)
		}
	}
	k.directory.check(t, "at the end", true)
}

// claimTooLate kills a process in a claim, has what it left recovered, and lets the
// claim arrive then. It gives another process that lives.
func claimTooLate(t *testing.T, w work) (*killing, *scene, *running) {
	t.Helper()
	k := newKilling(t)
	process, other := k.spawn(t), k.spawn(t)
	s := k.stage(t, process, w, 0, death{
		name: "in the claim", moment: testkit.Statement("INSERT INTO claims"), before: remains{operations: "prepared", claims: 1},
	})
	claim, _ := k.hold(t, process, w, s)
	process.kill()
	k.directory.expire(t)
	k.expectNoOrphan(t, k.client(t, other, s), s) // who looks the keys up meets the operation and clears it
	k.directory.check(t, "when a lookup has cleared it", true)

	claim.Release()
	eventually(t, "the claim arrives", func() bool { return k.directory.remainsOf(t, s.id) == remains{claims: 1} })
	return k, s, other
}

func withEmail(handle, email string) holdfast.NewAccount {
	return holdfast.NewAccount{Handle: handle, Email: &email, EmailVerified: ptr(true)}
}
