package domain

import "time"

// Object is what an object store's listing tells of one of its objects. It proves
// nothing of the bytes.
type Object struct {
	Key        string
	Size       int64 // bytes
	ModifiedAt time.Time
}
