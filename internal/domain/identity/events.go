package identity

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Event tells of one committed change of a record: who made it, of which
// fields (never their values), and when. There is exactly one for each revision.
type Event struct {
	Number   domain.Number // whose stream it is in
	Sequence int64         // in that stream, dense from 1, in the order of commits
	Family   domain.Family // account or device
	Record   domain.RecordID
	Revision int64
	Kind     EventKind
	Fields   []string // names as the API has them
	Actor    Actor
	At       time.Time // the database's clock
}

// EventKind says what was done. Kinds may be added.
type EventKind string

const (
	AccountCreated      EventKind = "account.created"
	AccountChanged      EventKind = "account.changed"
	AccountEmailChanged EventKind = "account.email_changed" // also the first address, and the same one verified anew
	AccountEmailRemoved EventKind = "account.email_removed"
	AccountDeleted      EventKind = "account.deleted"
	AccountRestored     EventKind = "account.restored" // its database was put back to an earlier time: read it again
	DeviceCreated       EventKind = "device.created"
	DeviceChanged       EventKind = "device.changed"
	DeviceWasApproved   EventKind = "device.approved"
	DeviceWasDenied     EventKind = "device.denied"
	DeviceRedeemed      EventKind = "device.redeemed"
	DeviceWasRevoked    EventKind = "device.revoked"
	DeviceRemoved       EventKind = "device.removed"
	DeviceRestored      EventKind = "device.restored" // likewise
)

// Actor is who made a change.
type Actor struct {
	Kind ActorKind
	ID   domain.RecordID // of the principal or the client; zero for Holdfast itself
}

// ActorKind says what an actor is.
type ActorKind string

const (
	ActorPrincipal ActorKind = "principal" // one of the tenant's, by its API
	ActorClient    ActorKind = "client"    // a public client, for a device
	ActorHoldfast  ActorKind = "holdfast"  // cleanup, and what follows from a change
)

func principalActor(scope tenancy.Scope) Actor {
	return Actor{ActorPrincipal, domain.RecordID(scope.Principal)}
}

// event is an Event on its way into the database.
type event struct {
	record   ref
	revision int64
	kind     EventKind
	fields   []string
	actor    Actor
}
