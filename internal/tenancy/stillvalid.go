package tenancy

// StillValid tells, of a scope that Authenticate gave a while ago, whether its token
// is good by what this process knows now: nil, or why not. It waits for nothing, so
// that it can be asked while locks are held. A tenant that has gone, or was suspended
// since the process last read it, has no open gate, which is for the transaction to
// find.
//
// Errors: unauthenticated token_expired, token_revoked; forbidden tenant_suspended,
// tenant_deleting;
// unavailable auth_unavailable. They are as Authenticate's.
func (t *Tokens) StillValid(s Scope) error {
	now := t.now()
	k, err := t.knowledge(now)
	switch {
	case err != nil:
		return err
	case !now.Before(s.Expires.Add(tokenLeeway)):
		return errTokenExpired()
	case k.revoked(s):
		return errTokenRevoked()
	case s.IsOperator():
		return nil
	}
	tenant, found := t.tenants.GetIfPresent(s.Tenant)
	if found && k.current(s.Tenant, tenant.sequence) {
		return admit(tenant.state)
	}
	return nil
}
