package main

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func serverKeys(configured []config.ServerKey) (*tenancy.ServerKeys, error) {
	keys := make([]tenancy.ServerKey, len(configured))
	for i, key := range configured {
		keys[i].ID = key.ID
		copy(keys[i].Secret[:], key.Key.Reveal())
	}
	return tenancy.NewServerKeys(keys...)
}

// cursorSecrets: cursors live for minutes, and derive from the same keys.
func cursorSecrets(configured []config.ServerKey) [][]byte {
	secrets := make([][]byte, len(configured))
	for i, key := range configured {
		secrets[i] = []byte(key.Key.Reveal())
	}
	return secrets
}

// bootstrap makes the configured operators where there has never been one.
func (p *process) bootstrap(ctx context.Context) error {
	var keys []tenancy.BootstrapKey
	if key := p.config.OperatorKey; !key.IsZero() {
		keys = append(keys, tenancy.BootstrapKey{Name: "first", Key: key.Reveal()})
	}
	if key := p.config.SecondOperatorKey; !key.IsZero() {
		keys = append(keys, tenancy.BootstrapKey{Name: "second", Key: key.Reveal()})
	}
	if len(keys) == 0 {
		return nil
	}
	made, err := p.store.Bootstrap(ctx, keys)
	if made {
		p.telemetry.Log.InfoContext(ctx, "the first operators were made")
	}
	return err
}

// derivedSecrets derives what is shown once: the directory's codes, and the secrets
// of leases. Each names in its first part what it is for.
type derivedSecrets struct{ keys *tenancy.ServerKeys }

func (s derivedSecrets) Derive(parts ...string) (secret []byte, keyID string) {
	keyID = s.keys.Current()
	secret, _ = s.DeriveWith(keyID, parts...)
	return secret, keyID
}

func (s derivedSecrets) DeriveWith(keyID string, parts ...string) (secret []byte, ok bool) {
	secret, err := s.keys.Derive(keyID, parts...)
	return secret, err == nil
}
