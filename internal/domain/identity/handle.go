package identity

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// HandlePolicy says which text a tenant takes as a handle, and as the local
// part of an email address.
type HandlePolicy string

const (
	// HandleASCII takes ASCII letters, digits, "_", "-" and ".".
	HandleASCII HandlePolicy = "ascii"
	// HandleUnicode takes the letters and digits of one script, and keeps
	// look-alikes apart.
	HandleUnicode HandlePolicy = "unicode"
)

// ParseHandlePolicy reads the name of a policy: "ascii" or "unicode".
func ParseHandlePolicy(s string) (HandlePolicy, error) {
	switch policy := HandlePolicy(s); policy {
	case HandleASCII, HandleUnicode:
		return policy, nil
	default:
		return "", domain.Invalid("handle_policy_invalid", `The handle policy is either "ascii" or "unicode".`)
	}
}

// errPolicy reports a policy that no ParseHandlePolicy gave: our own mistake
// and not the caller's, so it is no *domain.Error.
func errPolicy(policy HandlePolicy) error {
	return fmt.Errorf("identity: unknown handle policy %q", string(policy))
}

// maxHandle bounds a handle, and its key, in characters.
const maxHandle = 64

// Handle is the name that an account is known by within its tenant. The zero
// Handle is none.
type Handle struct {
	display  string
	key      string
	skeleton string
}

// ParseHandle checks s against the tenant's policy and reserved names, and
// makes its keys. Errors are Invalid: handle_empty, handle_too_long (64
// characters), handle_invalid, handle_reserved.
func ParseHandle(policy HandlePolicy, reserved Reserved, s string) (Handle, error) {
	if s == "" {
		return Handle{}, domain.Invalid("handle_empty", "The handle is empty.")
	}
	if len(s) > maxHandle*utf8.UTFMax {
		return Handle{}, errHandleTooLong()
	}
	if why := unfit(s); why != "" {
		return Handle{}, errHandle(why)
	}

	h, err := canonicalHandle(policy, s)
	if err != nil {
		return Handle{}, err
	}
	if reserved.holds(h) {
		return Handle{}, domain.Invalid("handle_reserved", "The handle, or one that looks like it, is reserved: choose another.")
	}
	return h, nil
}

func canonicalHandle(policy HandlePolicy, s string) (Handle, error) {
	switch policy {
	case HandleASCII:
		key, err := asciiHandleKey(s)
		return Handle{display: s, key: key}, err
	case HandleUnicode:
		key, err := unicodeHandleKey(s)
		return Handle{display: s, key: key, skeleton: skeletonKey(key)}, err
	default:
		return Handle{}, errPolicy(policy)
	}
}

// RestoreHandle gives the handle of a stored row. It trusts its arguments and
// runs no rule: a key is made once, by the rules of its day. skeleton is ""
// for a handle that was parsed under the ascii policy.
func RestoreHandle(display, key, skeleton string) Handle {
	return Handle{display: display, key: key, skeleton: skeleton}
}

// String is the handle as its owner wrote it, for showing.
func (h Handle) String() string { return h.display }

// Key is the canonical form, for comparing and for claiming: two spellings
// that differ in letter case only have one key. At most 64 characters.
func (h Handle) Key() string { return h.key }

// Skeleton is the second key that a handle claims, in the handle family too,
// so that a look-alike conflicts with it; "" under the ascii policy. No
// skeleton is any handle's Key. Under 2 KiB.
func (h Handle) Skeleton() string { return h.skeleton }

// IsZero tells the absent handle.
func (h Handle) IsZero() bool { return h == Handle{} }

// asciiHandleKey is s in lower case, if s matches [A-Za-z0-9][A-Za-z0-9_.-]*.
func asciiHandleKey(s string) (string, error) {
	if utf8.RuneCountInString(s) > maxHandle {
		return "", errHandleTooLong()
	}
	for _, c := range []byte(s) {
		if !isASCIILetter(c) && !isASCIIDigit(c) && c != '_' && c != '-' && c != '.' {
			return "", errHandle("may have only ASCII letters, digits, '.', '_' and '-'")
		}
	}
	if !isASCIILetter(s[0]) && !isASCIIDigit(s[0]) {
		return "", errHandle("must start with a letter or a digit")
	}
	return strings.ToLower(s), nil
}

func errHandle(why string) error { return domain.Invalid("handle_invalid", "The handle "+why+".") }

func errHandleTooLong() error {
	return domain.Invalid("handle_too_long", "The handle is longer than 64 characters.")
}
