package objectstore

import (
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// What a bucket's methods fail with, besides their context's own error.
var (
	errMissing     = domain.Unavailable("object_missing", "A body is not where it was stored.")
	errCorrupt     = domain.Unavailable("object_corrupt", "A body is not what was stored.")
	errUnavailable = domain.Unavailable("object_store_unavailable", "The object store can't be used at the moment. Try again.")
)

// A corruption is wrong bytes at the right key.
type corruption string

func (c corruption) Error() string { return string(c) }
