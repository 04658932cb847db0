package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/export"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Directory is what the handlers need of identity.Service.
type Directory interface {
	Create(context.Context, tenancy.Scope, identity.CreateAccount) (identity.Created, error)
	Get(context.Context, tenancy.Scope, domain.AccountID) (identity.Account, error)
	Patch(ctx context.Context, scope tenancy.Scope, id domain.AccountID, revision int64, patch identity.AccountPatch) (identity.Account, error)
	Delete(ctx context.Context, scope tenancy.Scope, id domain.AccountID, revision int64) error
	List(ctx context.Context, scope tenancy.Scope, filter identity.AccountFilter, after *identity.Position, limit int) (identity.AccountPage, error)
	BatchGet(context.Context, tenancy.Scope, []domain.AccountID) ([]identity.BatchResult, error)
	LookupHandle(ctx context.Context, scope tenancy.Scope, handle string) (identity.Account, error)
	LookupEmail(ctx context.Context, scope tenancy.Scope, email string) (identity.Account, error)

	BeginEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, req identity.BeginEmailChange) (identity.BegunEmailChange, error)
	ConfirmEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, change domain.EmailChangeID, code string) (identity.Account, error)
	CancelEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID, change domain.EmailChangeID) error
	PendingEmailChange(ctx context.Context, scope tenancy.Scope, account domain.AccountID) (identity.PendingEmailChange, error)
	RemoveEmail(ctx context.Context, scope tenancy.Scope, account domain.AccountID, revision *int64) (identity.Account, error)

	AccountEvents(ctx context.Context, scope tenancy.Scope, account domain.AccountID, after int64, limit int) (identity.EventPage, error)
	Feed(ctx context.Context, scope tenancy.Scope, after identity.FeedPosition, limit int) (identity.FeedPage, error)

	CreateDevice(context.Context, tenancy.Scope, identity.CreateDevice) (identity.CreatedDevice, error)
	GetDevice(context.Context, tenancy.Scope, domain.DeviceID) (identity.Device, error)
	PatchDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64, patch identity.DevicePatch) (identity.Device, error)
	RevokeDevice(ctx context.Context, scope tenancy.Scope, id domain.DeviceID, revision int64) error
	AccountDevices(ctx context.Context, scope tenancy.Scope, account domain.AccountID, status *identity.DeviceStatus, after domain.DeviceID, limit int) (identity.DevicePage, error)
	LookupCode(context.Context, tenancy.Scope, identity.CodeGuess) (identity.Device, error)
	ApproveDevice(context.Context, tenancy.Scope, identity.CodeGuess, identity.Clients) (identity.Device, error)
	DenyDevice(context.Context, tenancy.Scope, identity.CodeGuess) (identity.Device, error)

	// Import never calls next and result at once.
	Import(ctx context.Context, scope tenancy.Scope, next func() (identity.ImportLine, error), result func(identity.ImportResult) error) error

	AuthorizeDevice(context.Context, tenancy.Client, identity.AuthorizeDevice) (identity.CreatedDevice, error)
	PollDevice(ctx context.Context, client tenancy.Client, deviceCode string) (identity.Redeemed, error)
	RefreshDevice(ctx context.Context, client tenancy.Client, refreshToken string, scopes []string) (identity.Redeemed, error)
	RevokeRefreshToken(ctx context.Context, client tenancy.Client, token string) error

	Recovery(context.Context, tenancy.Scope) (identity.Recovery, error)
	Report(context.Context, domain.TenantID) (identity.Report, error)
	SweepProgress(context.Context) ([]identity.SweepProgress, error)
}

// Coordinator is what the handlers need of lease.Service.
type Coordinator interface {
	CreateWorld(ctx context.Context, scope tenancy.Scope, id string, policy lease.Policy) (lease.World, error)
	Worlds(ctx context.Context, scope tenancy.Scope, after string, limit int) (lease.WorldPage, error)
	World(ctx context.Context, scope tenancy.Scope, id string) (lease.World, error)
	RetireWorld(ctx context.Context, scope tenancy.Scope, id string) error

	Lease(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string) (lease.State, error)
	LeaseAt(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, position int64) (lease.Proof, error)
	// Acquire waits in line for as long as it is told, and leaves it when ctx ends.
	Acquire(ctx context.Context, scope tenancy.Scope, world string, req lease.Acquire) (lease.Grant, error)
	Activate(ctx context.Context, scope tenancy.Scope, world string, a lease.Authority, replayed int64, hash journal.Hash) (lease.State, error)
	Renew(ctx context.Context, scope tenancy.Scope, world string, a lease.Authority) (lease.Renewal, error)
	RenewAll(context.Context, tenancy.Scope, []lease.Renew) ([]lease.Renewed, error)
	HandOff(ctx context.Context, scope tenancy.Scope, world string, a lease.Authority, to string) (lease.HandedOff, error)
	Revoke(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, req lease.Revoke) (lease.HandedOff, error)

	Append(ctx context.Context, scope tenancy.Scope, world string, a *lease.Authority, req lease.Append) (lease.Receipt, error)
	CheckAppend(ctx context.Context, scope tenancy.Scope, world string, a *lease.Authority) (lease.Verdict, error)
	Entries(ctx context.Context, scope tenancy.Scope, world string, after int64, limit int) (lease.EntryPage, error)
	Follow(ctx context.Context, scope tenancy.Scope, world string, after int64) (*lease.Following, error)
	Checkpoint(ctx context.Context, scope tenancy.Scope, world string) (journal.Checkpoint, error)
	Heat(ctx context.Context, scope tenancy.Scope, world string) (lease.Heat, error)
}

// Records is what the handlers need of record.Service. Whoever gets bodies or a page
// closes them when they were sent.
type Records interface {
	CreateCollection(context.Context, tenancy.Scope, record.NewCollection) (made record.Collection, created bool, err error)
	Collection(ctx context.Context, scope tenancy.Scope, name string) (record.Collection, error)
	Collections(ctx context.Context, scope tenancy.Scope, after string, limit int) (record.CollectionPage, error)

	Publish(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, p record.Publication) (record.Receipt, error)
	PublishEach(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, all []record.Publication) ([]record.Made, error)
	Delete(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, key string, revision int64, operationID string) (record.Receipt, error)
	StoredReceipt(ctx context.Context, scope tenancy.Scope, collection, operationID string) (record.Stored, error)

	Record(ctx context.Context, scope tenancy.Scope, collection, key string) (record.Record, error)
	RecordWithBodies(ctx context.Context, scope tenancy.Scope, collection, key string) (*record.Bodies, error)
	Records(ctx context.Context, scope tenancy.Scope, collection string, filter record.Filter, after string, limit int) (record.RecordPage, error)
	Stat(ctx context.Context, scope tenancy.Scope, collection, key, section string) (record.Stat, error)
	Body(ctx context.Context, scope tenancy.Scope, collection, key, section string) (*record.Body, error)
	Presign(ctx context.Context, scope tenancy.Scope, collection, key, section string) (record.Presigned, error)
	Export(ctx context.Context, scope tenancy.Scope, collection string, req record.ExportRequest) (*record.ExportPage, error)

	RequestSnapshot(ctx context.Context, scope tenancy.Scope, collection, idempotencyKey string) (record.RequestedSnapshot, error)
	Snapshots(ctx context.Context, scope tenancy.Scope, collection string) ([]record.Snapshot, error)
	Snapshot(ctx context.Context, scope tenancy.Scope, collection string, id domain.SnapshotID) (record.Snapshot, error)
	PresignSnapshot(ctx context.Context, scope tenancy.Scope, collection string, id domain.SnapshotID, after, limit int) (record.SnapshotParts, error)
	SweepProgress(context.Context) ([]record.SweepProgress, error)

	Claim(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, req record.ClaimBatch) (record.Batch, error)
	Heartbeat(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, id string, items []record.ClaimedItem, term time.Duration) ([]record.BatchItem, error)
	Complete(ctx context.Context, scope tenancy.Scope, collection string, a *lease.Authority, id string, req record.CompleteBatch) (record.Completion, error)
	Batch(ctx context.Context, scope tenancy.Scope, collection, id string) (record.Batch, error)
}

// Migrations is what the handlers need of migration.Service.
type Migrations interface {
	Ask(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, req migration.Request) (made migration.Migration, replayed bool, err error)
	Migration(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (migration.Migration, error)
	Migrations(ctx context.Context, tenant domain.TenantID, page tenancy.List[domain.MigrationID]) (all []migration.Migration, more bool, err error)
	Transitions(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Transition, error)
	Progress(context.Context, migration.Migration) (migration.Progress, error)
	Runs(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Run, error)
	Reports(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Report, error)
	ReportOf(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID) (migration.Report, error)

	Preview(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, want migration.Preview) (migration.Migration, migration.Plan, error)
	Plan(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Plan, error)
	Drift(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Drift, error)
	Approve(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Migration, error)

	Activate(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Activation, error)
	Run(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Run, error)
	Pause(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error)
	Resume(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error)
	Abort(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash) (migration.Migration, error)
	LowerCaps(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, caps migration.Caps) (migration.Migration, error)
	Close(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, decision string) (migration.Migration, error)

	RequalifyPreview(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, previous, qualification migration.Hash) (migration.Envelope, error)
	Envelope(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, hash migration.Hash) (migration.Envelope, error)
	Requalify(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, envelope migration.Hash) (migration.Migration, error)

	BeginVerification(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, phase migration.ReportKind) (migration.Verification, error)
	EndVerification(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, seen migration.VerificationReport) (migration.Verdict, error)
	BeginScrub(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan migration.Hash, budget migration.ScrubBudget) (migration.Report, error)

	DeferredOf(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) ([]migration.Deferred, error)
	RetryDeferred(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, deferred migration.DeferredID) (migration.Deferred, error)

	Deployments(context.Context) ([]migration.Process, error)
	Runtime(context.Context) (migration.Runtime, error)
	Qualifications(ctx context.Context, build string) ([]migration.Qualified, error)
	Qualification(context.Context, migration.Hash) (migration.Qualification, error)
}

// Memory is what the handlers need of record.Memory.
type Memory interface {
	// Take waits for room for so many bytes of a tenant; release gives it back.
	Take(ctx context.Context, tenant domain.TenantID, bytes int64) (release func(), err error)
}

// Administration is what the handlers need of tenancy.Store. Each method checks
// the caller itself.
type Administration interface {
	CreateTenant(context.Context, tenancy.Scope, tenancy.NewTenant) (t tenancy.Tenant, replayed bool, err error)
	Tenant(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)
	DemandTenant(ctx context.Context, caller tenancy.Scope, scope string, id domain.TenantID) error
	Tenants(context.Context, tenancy.Scope, tenancy.List[string]) (tenants []tenancy.Tenant, more bool, err error)
	SuspendTenant(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)
	OpenIdentity(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)
	ResumeTenant(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)
	SetRecordFormat(ctx context.Context, caller tenancy.Scope, id domain.TenantID, format int16) (tenancy.Tenant, error)
	RenameTenant(ctx context.Context, caller tenancy.Scope, id domain.TenantID, revision int64, name string) (tenancy.Tenant, error)

	DemandExportable(context.Context, tenancy.Scope, domain.TenantID) error
	AskDeletion(ctx context.Context, caller tenancy.Scope, id domain.TenantID, revision int64) (tenancy.Deletion, error)
	Deletion(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Deletion, error)
	ApproveDeletion(context.Context, tenancy.Scope, domain.TenantID, int64) (tenancy.Deletion, error)
	CancelDeletion(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)
	HoldTenant(ctx context.Context, caller tenancy.Scope, id domain.TenantID, reason string) (tenancy.Tenant, error)
	LiftHold(context.Context, tenancy.Scope, domain.TenantID) (tenancy.Tenant, error)

	CreatePrincipal(context.Context, tenancy.Scope, domain.TenantID, tenancy.NewPrincipal) (p tenancy.Principal, replayed bool, err error)
	Principals(context.Context, tenancy.Scope, domain.TenantID, tenancy.List[string]) (principals []tenancy.Principal, more bool, err error)
	DisablePrincipal(context.Context, tenancy.Scope, domain.TenantID, domain.PrincipalID) (tenancy.Principal, error)
	Principal(context.Context, tenancy.Scope, domain.TenantID, domain.PrincipalID) (tenancy.Principal, error)

	CreateClient(context.Context, tenancy.Scope, domain.TenantID, tenancy.NewClient) (c tenancy.Client, replayed bool, err error)
	Clients(context.Context, tenancy.Scope, domain.TenantID, tenancy.List[string]) (clients []tenancy.Client, more bool, err error)
	DisableClient(context.Context, tenancy.Scope, domain.TenantID, domain.ClientID) (tenancy.Client, error)
	Client(context.Context, tenancy.Scope, domain.TenantID, domain.ClientID) (tenancy.Client, error)

	CreateIssuer(context.Context, tenancy.Scope, domain.TenantID, tenancy.NewIssuer) (i tenancy.Issuer, replayed bool, err error)
	Issuers(context.Context, tenancy.Scope, domain.TenantID, tenancy.List[tenancy.IssuerID]) (issuers []tenancy.Issuer, more bool, err error)
	DisableIssuer(context.Context, tenancy.Scope, domain.TenantID, tenancy.IssuerID) (tenancy.Issuer, error)
	TrustedIssuer(context.Context, tenancy.Scope, domain.TenantID, tenancy.IssuerID) (tenancy.Issuer, error)

	CreateOperator(context.Context, tenancy.Scope, tenancy.NewPrincipal) (p tenancy.Principal, replayed bool, err error)
	Operators(context.Context, tenancy.Scope, tenancy.List[string]) (operators []tenancy.Principal, more bool, err error)
	DisableOperator(context.Context, tenancy.Scope, domain.PrincipalID) (tenancy.Principal, error)

	CreateKey(context.Context, tenancy.Scope, domain.TenantID, tenancy.NewKey) (k tenancy.Key, text string, replayed bool, err error)
	Keys(ctx context.Context, caller tenancy.Scope, tenant domain.TenantID, of domain.PrincipalID, page tenancy.List[domain.KeyID]) (keys []tenancy.Key, more bool, err error)
	RevokeKey(context.Context, tenancy.Scope, domain.TenantID, domain.KeyID) (tenancy.Key, error)
	Key(context.Context, tenancy.Scope, domain.TenantID, domain.KeyID) (tenancy.Key, error)
}

// Exports is what the handlers need of export.Service.
type Exports interface {
	Page(ctx context.Context, tenant domain.TenantID, at export.Position) (export.Page, error)
	Body(ctx context.Context, tenant domain.TenantID, collection, key, section string, digest record.Digest) (*record.Body, error)
}

// StorageGuard is what the handlers need of record.Service before a tenant keeps
// anything in the object store.
type StorageGuard interface {
	// CheckStore fails with conflict object_store_missing or lifecycle_overlaps, or
	// unavailable lifecycle_unreadable, unless bodies would be safe there.
	CheckStore(context.Context) error
}

// Jobs is what the handlers need of jobs.Inserter.
type Jobs interface {
	// IdentitySweep asks for a sweep of each database and gives those for which
	// none was waiting or under way already.
	IdentitySweep(ctx context.Context, databases ...string) (asked []string, err error)
	// IdentityCleanup likewise of a cleanup.
	IdentityCleanup(ctx context.Context, databases ...string) (asked []string, err error)
	// And these of what is done for records.
	RecordCleanup(ctx context.Context, databases ...string) (asked []string, err error)
	Snapshots(ctx context.Context, databases ...string) (asked []string, err error)
	RecordObjects(ctx context.Context, databases ...string) (asked []string, err error)
	// MigrationRun asks for a worker to begin a run, and MigrationScrub a scrub.
	MigrationRun(context.Context, migration.OpenWork) error
	MigrationScrub(context.Context, migration.OpenWork) error
}

// CheckpointKeys is what the handlers need of tenancy.CheckpointKeys.
type CheckpointKeys interface {
	JWKS(context.Context) (tenancy.JWKS, error)
}

// Tokens is what the API needs of tenancy.Tokens.
type Tokens interface {
	Authenticate(ctx context.Context, token string) (tenancy.Scope, error)
	Grant(context.Context, tenancy.GrantRequest) (tenancy.AccessToken, error)
	PublicClient(ctx context.Context, clientID string) (tenancy.Client, error)
	PublicClientOf(context.Context, domain.TenantID, domain.ClientID) (tenancy.Client, error)
	DeviceToken(tenancy.DeviceGrant) (tenancy.AccessToken, error)
	JWKS() (tenancy.JWKS, error)
}
