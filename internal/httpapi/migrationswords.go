package httpapi

import (
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
)

// stopWords say what has happened, by the category of a stop. What to do next is the
// domain's to say.
var stopWords = map[string]string{
	migration.SourceDefect:        "Some sections aren't what their rows say, and were left where they are.",
	migration.ObjectCorrupt:       "An object has other bytes than the body that belongs there.",
	migration.ObjectMissing:       "A body's object isn't in the bucket.",
	migration.BucketUnavailable:   "The bucket can't be reached.",
	migration.LifecycleUnsafe:     "A lifecycle rule of the bucket could delete bodies.",
	migration.LifecycleUnreadable: "The bucket's lifecycle rules can't be read.",
	migration.TenantClosed:        "The tenant isn't open.",
	migration.DatabaseUnavailable: "A data database can't be reached.",
	migration.BuildDiffers:        "What would move bodies isn't what the plan names.",
	migration.VerificationFailed:  "What readers see now isn't what they saw before.",
	migration.Internal:            "Something went wrong in the service.",
}

// whyStopped gives a category that has no words here those of the last resort.
func whyStopped(category string) string {
	if words, known := stopWords[category]; known {
		return words
	}
	return "The migration was stopped for a review."
}
