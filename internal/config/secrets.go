package config

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
)

// ServerKey is a key that secrets derive from. Its id stays with what was
// derived, so that the key can be told later.
type ServerKey struct {
	ID  string
	Key Secret // 32 bytes
}

// serverKeyBytes is a key's length; its text has two digits a byte.
const serverKeyBytes = 32

var serverKeyID = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func (l *loader) serverKeys(text string) []ServerKey {
	const variable = "HOLDFAST_SERVER_KEYS"
	var keys []ServerKey
	seen := map[string]bool{}
	for i, entry := range strings.Fields(text) {
		id, digits, _ := strings.Cut(entry, ":")
		key, err := hex.DecodeString(digits)
		if err != nil || len(key) != serverKeyBytes || !serverKeyID.MatchString(id) {
			l.problem(variable, "entry %d is not ID:KEY, with an id of at most 32 lower-case letters, digits and -, and a key of %d hexadecimal digits",
				i+1, 2*serverKeyBytes)
			continue
		}
		if seen[id] {
			l.problem(variable, "entry %d has the id of an earlier one", i+1)
		}
		seen[id] = true
		keys = append(keys, ServerKey{ID: id, Key: NewSecret(string(key))})
	}
	if strings.TrimSpace(text) == "" {
		l.problem(variable, "is required: ID:KEY, with a key of %d hexadecimal digits", 2*serverKeyBytes)
	}
	return keys
}

// password accepts printable ASCII, on which every client and server agree.
func (l *loader) password(name, text string, required bool) Secret {
	if text == "" && required {
		l.problem(name, "is required")
	}
	for _, r := range text {
		if r < ' ' || r > '~' {
			l.problem(name, "has a character that is not printable ASCII")
			break
		}
	}
	return NewSecret(text)
}

var apiKeyForm = regexp.MustCompile(`^hf_[0-9a-f]{32}_([A-Za-z0-9_-]{43})$`)

// apiKey accepts "hf_" and an id of 32 hexadecimal digits, "_" and a secret of
// 32 bytes in base64url without padding.
func (l *loader) apiKey(name, text string) Secret {
	if text == "" {
		return Secret{}
	}
	parts := apiKeyForm.FindStringSubmatch(text)
	if parts == nil {
		l.problem(name, "is not of the form hf_ID_SECRET, with an id of 32 hexadecimal digits and a secret of 43 base64url characters")
		return Secret{}
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(parts[1]); err != nil {
		l.problem(name, "has a secret that is not base64url of 32 bytes")
	}
	return NewSecret(text)
}

func (l *loader) secondOperatorKey(v variables, environment Environment) Secret {
	const variable = "HOLDFAST_SECOND_OPERATOR_KEY"
	second := l.apiKey(variable, v.SecondOperatorKey)
	switch {
	case v.SecondOperatorKey == "":
	case environment != Development:
		l.problem(variable, "is for development only: let the first operator make the second, who keeps a key of their own")
	case v.OperatorKey == "":
		l.problem(variable, "is given without HOLDFAST_OPERATOR_KEY")
	case keyID(v.OperatorKey) == keyID(v.SecondOperatorKey):
		l.problem(variable, "has the id of HOLDFAST_OPERATOR_KEY: they must be two keys")
	}
	return second
}

// keyID is a key's text up to its secret.
func keyID(key string) string { return key[:min(len(key), len("hf_")+32)] }
