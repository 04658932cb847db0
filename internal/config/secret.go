package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that no log, error or dump shows: only Reveal gives it.
type Secret struct{ value string }

// NewSecret hides a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal gives the value, to whoever must use it.
func (s Secret) Reveal() string { return s.value }

// IsZero tells a secret that was not given.
func (s Secret) IsZero() bool { return s.value == "" }

func (s Secret) String() string               { return redacted }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format covers every verb: fmt would print the field for those that are not
// for strings.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }
