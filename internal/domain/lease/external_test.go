package lease

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// L22: who calls by another issuer's token is that issuer's subject in the journal,
// whatever it is called, and never the coordinator or somebody of Holdfast's.
func TestActorOf_AnExternalCallerIsItsIssuersSubject(t *testing.T) {
	t.Parallel()
	tenant := domain.TenantID{1}
	own := tenancy.Scope{Tenant: tenant, Principal: domain.PrincipalID{7}}
	for _, subject := range []string{"coordinator", "alice", own.Principal.String()} {
		caller := own
		caller.External = tenancy.External{Issuer: "https://id.example", Subject: subject}
		got := actorOf(caller)
		if diff := cmp.Diff(journal.Actor{Type: journal.ActorPrincipal, Issuer: "https://id.example", Subject: subject}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got == actorOf(own) || got.IsCoordinator() {
			t.Errorf("%v", got)
		}
	}
}
