package tenancy

import (
	"encoding/hex"
	"testing"
)

// What was made before a tenant could begin importing is still found by its
// creation's retry.
func TestNewTenant_FingerprintOfAnOpenOneIsTheOldOne(t *testing.T) {
	t.Parallel()
	want, err := NewTenant{Name: "acme", HandlePolicy: "ascii"}.checked()
	if err != nil {
		t.Fatal(err)
	}
	if got, golden := hex.EncodeToString(want.fingerprint()), "e44fe3eb655a76919c883f6a3152a9aad28252a40cd6a024573b16e70e809e03"; got != golden {
		t.Errorf("fingerprint = %s, want %s", got, golden)
	}
}
