package domain

import (
	"crypto/sha256"
	"fmt"
)

// Numbers is how many numbers there are. Another count is another layout, with
// a migration of its own; this is the one place that knows it (the data
// databases' schema repeats it as a check).
const Numbers = 64

// Layout names the way keys are spread over numbers. A tenant's namespace
// carries the name, and any other than this is refused.
const Layout = "v1-64-fresh"

// Number is 0 to 63: the first byte of the SHA-256 of a placement key, modulo
// 64. It lives on one database.
type Number uint8

// NumberOf places a canonical key.
func NumberOf(key string) Number {
	return Number(sha256.Sum256([]byte(key))[0] % Numbers)
}

// Family is a kind of row with partitions of its own. Families share numbers,
// never rows.
type Family string

const (
	FamilyAccount    Family = "account"
	FamilyHandle     Family = "handle"
	FamilyEmail      Family = "email"
	FamilyDevice     Family = "device"
	FamilyDeviceCode Family = "device-code"
)

// Partition is the unit of locking, sweeping and placement.
type Partition struct {
	Tenant TenantID
	Family Family
	Number Number
}

// Bucket is the partition's name within its tenant: "identity-v1/handle/07".
func (p Partition) Bucket() string {
	return fmt.Sprintf("identity-v1/%s/%02d", p.Family, p.Number)
}
