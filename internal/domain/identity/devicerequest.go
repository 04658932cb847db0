package identity

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	maxLabel      = 200  // characters
	maxScopes     = 64   // of a device, as of a client
	maxScopesText = 2000 // characters, with a space between each two
)

func checkLabel(label *string) error {
	switch {
	case label == nil:
		return nil
	case damage(*label) != "":
		return domain.Invalid("label_invalid", "The label "+damage(*label)+".").At("/label")
	case strings.ContainsFunc(*label, hidden):
		return domain.Invalid("label_invalid", "The label has control characters, or such as turn the direction of writing.").At("/label")
	case utf8.RuneCountInString(*label) > maxLabel:
		return domain.Invalid("label_too_long", "A label has at most 200 characters.").At("/label")
	default:
		return nil
	}
}

// scopesOf gives what a device asks for, sorted, each once. Through a client it
// may ask for what that has, and asks for all of it by saying nothing (RFC 6749,
// section 3.3). Without one the words are the tenant's own.
func scopesOf(client tenancy.Client, asked []string) ([]string, error) {
	if len(asked) == 0 {
		return client.Scopes, nil
	}
	if slices.ContainsFunc(asked, func(scope string) bool { return !isScopeToken(scope) }) {
		return nil, domain.Invalid("scope_invalid",
			"A scope is one or more printable ASCII characters, none of them a space, a quote or a backslash.").At("/scopes")
	}
	scopes := slices.Compact(slices.Sorted(slices.Values(asked)))
	switch {
	case len(scopes) > maxScopes || len(strings.Join(scopes, " ")) > maxScopesText:
		return nil, domain.Invalid("scopes_too_many", "A device has at most 64 scopes, together of at most 2,000 characters.").At("/scopes")
	case !client.ID.IsZero() && !within(scopes, client.Scopes):
		return nil, domain.Invalid("scope_not_allowed", "The client may not ask for one of the scopes.").At("/scopes")
	default:
		return scopes, nil
	}
}

// within tells whether each of some is among all, which are sorted.
func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(scope string) bool {
		_, found := slices.BinarySearch(all, scope)
		return !found
	})
}

// isScopeToken is the scope-token of RFC 6749, section 3.3: %x21 / %x23-5B /
// %x5D-7E, once or more.
func isScopeToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}

// fingerprintOfDevice tells a repeated request from another one under the same
// key.
func fingerprintOfDevice(req CreateDevice) []byte {
	canonical, _ := json.Marshal([]any{req.Label, req.Client.ID, req.Scopes}) // strings and an id
	sum := sha256.Sum256(canonical)
	return sum[:]
}

// hidden tells a character that could make a label look like another: it is a
// stranger's device that names itself, to somebody who is asked to let it in.
func hidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) }
