package domain

import "context"

// Stock is something of which a tenant may have only so much.
type Stock string

const (
	Accounts  Stock = "accounts"   // that aren't deleted
	Devices   Stock = "devices"    // that aren't revoked
	Worlds    Stock = "worlds"     // that aren't retired
	BodyBytes Stock = "body_bytes" // of live bodies, each as often as it is referred to
)

// Quotas bounds what tenants have. What it knows is counted from time to time,
// so a tenant may pass its quota by what is made at once.
type Quotas interface {
	// Demand fails if the tenant may not have so much more. Errors: forbidden
	// quota_exceeded, with the member quota.
	Demand(ctx context.Context, tenant TenantID, stock Stock, more int64) error
	// Grew tells that the tenant has so much more, until it is counted again.
	Grew(tenant TenantID, stock Stock, more int64)
}

// Unlimited is Quotas that refuses nothing.
type Unlimited struct{}

func (Unlimited) Demand(context.Context, TenantID, Stock, int64) error { return nil }
func (Unlimited) Grew(TenantID, Stock, int64)                          {}
