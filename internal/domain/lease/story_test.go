package lease

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// expectStory compares all that there is of a world: its journal, told in words,
// which the head must be what it comes to; and what stands beside the head.
func (c *coordinator) expectStory(t testing.TB, world string, want ...string) {
	t.Helper()
	_, all := c.replay(t, world)
	var got []string
	for i := range all {
		got = append(got, c.tell(t, &all[i]))
	}
	got = append(got, c.beside(t, world)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", world, diff)
	}
}

// tell puts an entry in words: its epoch, and what happened.
func (c *coordinator) tell(t testing.TB, e *journal.Entry) string {
	t.Helper()
	by := c.name(e.Actor)
	switch e.Kind {
	case journal.KindEntry:
		return fmt.Sprintf("%d %s writes %s", e.Epoch, by, e.Payload)
	case journal.KindWorldCreated:
		return fmt.Sprintf("%d made by %s", e.Epoch, by)
	case journal.KindLeaseGranted:
		return fmt.Sprintf("%d granted to %s", e.Epoch, c.name(detailsOf[journal.Granted](t, e).Holder))
	case journal.KindLeaseHandedOff:
		return fmt.Sprintf("%d handed to %s by %s", e.Epoch, c.name(detailsOf[journal.HandedOff](t, e).To), by)
	case journal.KindLeaseRenewed:
		return fmt.Sprintf("%d renewed by %s", e.Epoch, by)
	case journal.KindLeaseActivated:
		return fmt.Sprintf("%d activated by %s", e.Epoch, by)
	case journal.KindLeaseRevoked:
		return fmt.Sprintf("%d revoked by %s: %s", e.Epoch, by, detailsOf[journal.Revoked](t, e).Reason)
	case journal.KindAppendRejected:
		d := detailsOf[journal.Rejected](t, e)
		return fmt.Sprintf("%d refused %s with %d, %d times", e.Epoch, by, d.PresentedEpoch, d.Count)
	default:
		return fmt.Sprintf("%d %s by %s", e.Epoch, e.Kind, by)
	}
}

func detailsOf[T any](t testing.TB, e *journal.Entry) T {
	t.Helper()
	d, err := journal.DetailsOf[T](e)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// beside tells of refusals that are counted and not journaled, and who waits.
func (c *coordinator) beside(t testing.TB, world string) (told []string) {
	t.Helper()
	for _, db := range c.router.Databases() {
		for sql, format := range map[string]string{
			`SELECT actor_subject, pending FROM append_rejections WHERE world_id = $1 AND pending > 0`: "counted of %s: %d",
			`SELECT actor_subject, ticket FROM lease_waiters WHERE world_id = $1`:                      "%s waits with ticket %d",
		} {
			rows, _ := c.admin[db.Name].Query(t.Context(), sql, world)
			var subject string
			var n int64
			_, err := pgx.ForEachRow(rows, []any{&subject, &n}, func() error {
				told = append(told, fmt.Sprintf(format, c.name(journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: subject}), n))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(told)
	return told
}

// name is an actor's in a story: a, b and c are principals by that name, and the
// client is any other.
func (c *coordinator) name(actor journal.Actor) string {
	for _, name := range []string{"a", "b", "c"} {
		if actor == actorOf(c.as(name).scope) {
			return name
		}
	}
	if actor.Type == journal.ActorPrincipal {
		return "client"
	}
	return string(actor.Type)
}

// operator is somebody of the deployment.
func operator() tenancy.Scope {
	return tenancy.Scope{Tenant: tenancy.Operators, Principal: domain.DeriveID[domain.PrincipalKind]([]byte("operators"), "olga"), Name: "olga"}
}

// expectFenced also holds what the fenced writer is told to who the writer is.
func expectFenced(t testing.TB, err error, epoch int64, holder journal.Actor) {
	t.Helper()
	var refusal *domain.Error
	if !errors.As(err, &refusal) || refusal.Code != "fenced" || refusal.Kind != domain.KindConflict {
		t.Errorf("got %v, want to be fenced", err)
		return
	}
	want := map[string]any{"epoch": epoch, "holder": holder}
	if diff := cmp.Diff(want, refusal.Members); diff != "" {
		t.Errorf("the fenced writer is told (-want +got):\n%s", diff)
	}
}

// worldNamed makes an id of any words.
func worldNamed(words ...string) string {
	plain := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	return strings.Map(plain, strings.ToLower(strings.Join(words, "-")))
}

var sorted = cmpopts.SortSlices(strings.Compare)
