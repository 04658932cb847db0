package migration

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// The categories of what stops a migration. The list is closed.
const (
	SourceDefect        = "source_defect"
	ObjectCorrupt       = "object_corrupt"
	ObjectMissing       = "object_missing"
	BucketUnavailable   = "bucket_unavailable"
	LifecycleUnsafe     = "lifecycle_unsafe"
	LifecycleUnreadable = "lifecycle_unreadable"
	TenantClosed        = "tenant_closed"
	DatabaseUnavailable = "database_unavailable"
	BuildDiffers        = "build_differs"
	VerificationFailed  = "verification_failed"
	DatabaseRestored    = "database_restored"
	Internal            = "internal"
)

// nextSteps are what is safe to do next, by category.
var nextSteps = map[string]string{
	SourceDefect:        "List the deferred sections. Publish each anew, or mend its rows and ask for a retry. Then have the resumption approved.",
	ObjectCorrupt:       "Other bytes stand at the body's key. Find out who wrote there and keep them; the database still has the right ones. Remove the object, then have the resumption approved.",
	ObjectMissing:       "The object isn't where it was written. Restore it from the bucket's versions or a backup, then ask for a retry.",
	BucketUnavailable:   "Look at the bucket and at this installation's credentials. Nothing was lost. When it answers, have the resumption approved.",
	LifecycleUnsafe:     "Disable the bucket's lifecycle rule, or keep it away from keys that begin with tenants/. Then have the resumption approved.",
	LifecycleUnreadable: "Let this installation's key read the bucket's lifecycle rules. Then have the resumption approved.",
	TenantClosed:        "The tenant is suspended, or is being moved or deleted. When it is open again, have the resumption approved.",
	DatabaseUnavailable: "Look at the data databases. Nothing was lost. When they answer, have the resumption approved.",
	BuildDiffers:        "What the worker is, or works with, isn't what the plan names: its drift shows what. Bring that back, or start workers of the plan's build, or requalify for a new build. Then have the resumption approved.",
	VerificationFailed:  "Compare the findings with a backup before anything else. Nothing is removed meanwhile.",
	DatabaseRestored:    "A data database was put back to an earlier time, and with it collections that had come further. Nothing was lost of the bodies. Have the resumption approved, resume, and activate and run again what the state asks for; verify anew, with a baseline of now.",
	Internal:            "Look at the worker's log by the migration's id, and tell the developers. Nothing was lost.",
}

// stopFor is why a migration stops behind an error.
func stopFor(err error, collection string) Stop {
	why := Stop{Category: categoryOf(err), Collection: collection}
	var failed *record.BodyError
	if errors.As(err, &failed) {
		why.Key, why.Section = failed.Key, failed.Section
	}
	why.NextStep = nextSteps[why.Category]
	return why
}

func categoryOf(err error) string {
	switch domain.CodeOf(err) {
	case "object_corrupt":
		return ObjectCorrupt
	case "object_missing":
		return ObjectMissing
	case "object_store_unavailable", "object_store_missing", "body_unavailable":
		return BucketUnavailable
	case "lifecycle_overlaps":
		return LifecycleUnsafe
	case "lifecycle_unreadable":
		return LifecycleUnreadable
	case errDrifted.Code, "process_outdated", errOtherBuild.Code:
		return BuildDiffers
	case "database_unavailable", "database_busy", "partition_unavailable":
		return DatabaseUnavailable
	case "tenant_suspended", "tenant_closed", "tenant_deleting", "tenant_purged":
		return TenantClosed
	}
	return Internal
}

// passing tells a failure that may be over in a while.
func passing(err error) bool {
	switch categoryOf(err) {
	case BucketUnavailable, DatabaseUnavailable, LifecycleUnreadable:
		return domain.KindOf(err) != domain.KindConflict
	}
	return domain.KindOf(err) == domain.KindOutcomeUnknown || domain.KindOf(err) == domain.KindLimited
}
