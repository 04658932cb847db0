package httpapi

import (
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

const (
	headerLease    = "Holdfast-Lease"
	maxLeaseSecret = 128 // characters
)

// authority reads a lease as a writer presents it, "<epoch>.<secret>": the epoch in
// the one spelling that it has in decimal digits, and no larger than a journal could
// tell of, the secret in those of base64url.
func authority(header string) (lease.Authority, error) {
	digits, secret, _ := strings.Cut(header, ".")
	epoch, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || epoch < 1 || epoch > journal.MaxInteger || strconv.FormatInt(epoch, 10) != digits || !leaseSecret(secret) {
		return lease.Authority{}, malformed("lease_malformed",
			"Holdfast-Lease must hold a lease's epoch, a dot and its secret, as the grant told them.").at(headerLease)
	}
	return lease.Authority{Epoch: epoch, Secret: secret}, nil
}

// optionalAuthority is nil for a writer that presents no lease.
func optionalAuthority(header *string) (*lease.Authority, error) {
	if header == nil {
		return nil, nil
	}
	a, err := authority(*header)
	return &a, err
}

func leaseSecret(text string) bool {
	if text == "" || len(text) > maxLeaseSecret {
		return false
	}
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
