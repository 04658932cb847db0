package httpapi

import (
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// etag is the strong entity tag of a revision.
func etag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// ifMatch gives the revision that a change was made from.
//
// It takes exactly one entity tag (RFC 9110, section 13.1.1). "*" would
// overwrite changes that the caller has not seen, which is what the
// precondition is there to prevent, so it counts as none. A tag that can't be
// one of ours, a weak one among them, can't match.
func ifMatch(header *string) (revision int64, err error) {
	switch {
	case header == nil, *header == "*":
		return 0, domain.PreconditionRequired("if_match_required",
			"The change must name, in If-Match, the ETag that it was made from. \"*\" is not accepted.").At("If-Match")
	case !entityTag(strings.TrimPrefix(*header, "W/")):
		return 0, malformed("if_match_malformed", "If-Match must hold exactly one entity tag.").at("If-Match")
	}
	digits := strings.Trim(*header, `"`)
	revision, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || revision < 1 || etag(revision) != *header {
		return 0, domain.PreconditionFailed("revision_stale",
			"The ETag in If-Match is not that of the current revision. Read it again and redo the change.").At("If-Match")
	}
	return revision, nil
}

// optionalIfMatch gives the revision that a change was made from, or nil for a
// change of whatever is there: without the header, or with "*".
func optionalIfMatch(header *string) (*int64, error) {
	if header == nil || *header == "*" {
		return nil, nil
	}
	revision, err := ifMatch(header)
	if err != nil {
		return nil, err
	}
	return &revision, nil
}

// entityTag tells a quoted string of visible characters.
func entityTag(s string) bool {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	return strings.IndexFunc(s[1:len(s)-1], func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) < 0
}
