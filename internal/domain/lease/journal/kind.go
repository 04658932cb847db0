package journal

// Kind is what an entry records.
type Kind string

const (
	KindWorldCreated   Kind = "world_created"
	KindLeaseGranted   Kind = "lease_granted"
	KindLeaseRenewed   Kind = "lease_renewed"
	KindLeaseRevoked   Kind = "lease_revoked"
	KindLeaseHandedOff Kind = "lease_handed_off"
	KindLeaseActivated Kind = "lease_activated"
	KindAppendRejected Kind = "append_rejected"
	KindAdvice         Kind = "advice"
	KindWorldRetired   Kind = "world_retired"
	KindEntry          Kind = "entry" // the tenant's own
)

// MakesWriter tells the kinds that begin an epoch.
func (k Kind) MakesWriter() bool {
	return k == KindWorldCreated || k == KindLeaseGranted || k == KindLeaseHandedOff
}
