package tenancy

import "context"

// BootstrapKey is a configured key of one of the first operators.
type BootstrapKey struct {
	Name string // the operator's
	Key  string // the whole text, hf_<id>_<secret>: GenerateKey makes one
}

// Bootstrap makes the first operators, with every operator scope, when there is
// none yet, and tells whether it did. It may be repeated and run by several
// processes at once.
func (s *Store) Bootstrap(ctx context.Context, keys []BootstrapKey) (made bool, err error) {
	panic("unwritten")
}
