package tenancy

// KnownLeaseRules are the latest rules of leases that this process knows.
func KnownLeaseRules() int16 { return knownLeaseRules }
