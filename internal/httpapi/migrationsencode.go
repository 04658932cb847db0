package httpapi

import (
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

func encodeMigration(m migration.Migration) Migration {
	encoded := Migration{
		MigrationID: m.ID.String(), TenantID: m.Tenant.String(), Kind: string(m.Kind), State: string(m.State), Revision: m.Revision,
		PlanHash: hashOrNil(m.PlanHash), FormerPlanHashes: encodeAll(m.Former, migration.Hash.String), EnvelopeHash: hashOrNil(m.Envelope),
		HeldBy:      textOrNil(m.HeldBy),
		RequestedBy: encodeMigrationActor(migration.Actor{ID: m.RequestedBy, Name: m.Requester}),
		RequestedAt: m.RequestedAt.UTC(), ChangedAt: m.ChangedAt.UTC(),
	}
	if m.Collections != nil {
		encoded.Collections = &m.Collections
	}
	if c := m.Caps; c != nil {
		encoded.Caps = &MigrationCaps{InspectedRows: c.Inspected, Records: c.Records, Bytes: c.Bytes, BodiesInFlight: c.InFlight}
	}
	if stop := m.Stop; stop != nil {
		encoded.Stop = &MigrationStop{
			Category: stop.Category, FromState: string(stop.From), Detail: whyStopped(stop.Category), NextStep: stop.NextStep,
			Collection: textOrNil(stop.Collection), Key: textOrNil(stop.Key), Section: textOrNil(stop.Section),
		}
	}
	return encoded
}

func encodeMigrationActor(a migration.Actor) MigrationActor {
	actor := MigrationActor{Name: a.Name}
	if !a.ID.IsZero() {
		actor.ID = textOrNil(a.ID.String())
	}
	return actor
}

func encodeTransition(t migration.Transition) MigrationTransition {
	return MigrationTransition{
		Revision: t.Revision, Act: t.Act, FromState: textOrNil(string(t.From)), ToState: string(t.To),
		Actor: encodeMigrationActor(t.Actor), Note: t.Note, At: t.At.UTC(),
	}
}

func encodeRun(r migration.Run) MigrationRun {
	return MigrationRun{
		RunID: r.ID.String(), Build: r.Build, AskedBy: r.AskedBy, StartedAt: r.StartedAt.UTC(), Deadline: r.Deadline.UTC(),
		Passes: r.Passes, WorkedAt: utcOrNil(&r.WorkedAt), EndedAt: utcOrNil(&r.EndedAt), Outcome: textOrNil(string(r.Outcome)),
	}
}

// hashOrNil is nil for the zero hash, which nothing has.
func hashOrNil(h migration.Hash) *string {
	if h == (migration.Hash{}) {
		return nil
	}
	text := h.String()
	return &text
}
