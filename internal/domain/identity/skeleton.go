package identity

import "go.mau.fi/util/confusable"

// skeletonPrefix keeps skeletons apart from the handles with whom they share a
// family: no handle has a slash. So a handle never conflicts with its own
// skeleton, even where the two are the same text ("coco"), and two handles
// conflict when they are one key or one skeleton.
const skeletonPrefix = "skeleton/"

// skeletonKey is the claim key of what a handle looks like: the UTS 39
// skeleton (section 4) of its canonical key. сосо in Cyrillic has that of
// coco in Latin.
//
// It compares keys, which are in lower case. A handle shown with its capitals
// can still look like another: I like l, O like 0. Who must not be fooled by
// that shows the key.
func skeletonKey(key string) string {
	return skeletonPrefix + confusable.Skeleton(key)
}
