package domain

import "strings"

// LifecycleRule is what a bucket's owner had the object store do to objects by
// itself, as far as it matters to whoever must not lose one.
type LifecycleRule struct {
	ID      string // the owner's name for it; may be empty
	Enabled bool
	// Deletes tells that the rule can delete an object that nothing replaced, or
	// make it unreadable. A rule with anything unknown in it can.
	Deletes bool
	// Prefix is what the keys of all objects that it can touch begin with. It is
	// empty where that isn't certain: a rule by size or by tag alone, say.
	Prefix string

	// All that it does, and to what, as canonical text in order, so that two
	// readings can be compared: `Expiration(Days="30")`, `Filter(Prefix="tmp/")`.
	Actions, Conditions []string
}

// Endangers tells whether the rule can take away any object whose key begins
// with prefix: it can when its own prefix is the same one, a shorter one of it,
// or one below.
func (r LifecycleRule) Endangers(prefix string) bool {
	return r.Enabled && r.Deletes && (strings.HasPrefix(prefix, r.Prefix) || strings.HasPrefix(r.Prefix, prefix))
}
