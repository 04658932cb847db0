// Package tenancy knows who is calling and keeps tenants apart.
//
// On the data databases it gives the domain its transactions (Tx), which can
// only be entered for one tenant and through the gates (Gates). On the control
// database it keeps the tenants, their principals and API keys, and the
// operators (Store), and from an API key to a caller's Scope it goes like this
// (Tokens):
//
//	key ──Grant──▶ token, 15 minutes ──Authenticate──▶ Scope ──▶ the domain
//
// A tenant's public clients, programs on its users' devices, hold no key. What
// they get is for the tenant's own application, and nothing here accepts it:
//
//	client id ──PublicClient──▶ Client ──▶ the domain's device flow ──DeviceToken──▶ token, 15 minutes
//
// What makes that safe:
//
//   - A token is signed with an Ed25519 key that every process knows before it
//     first signs, and knows until its last token has expired.
//   - A verified token is remembered by its hash, so that a signature is checked
//     once. What may end before the token does is looked at on every call: its
//     key, its principal, its tenant's state. Of a public client, the client and
//     its tenant's state.
//   - Whoever ends one of these adds a row to revocations under a counter that
//     is locked until commit, so a process that has read up to a number has
//     missed none. Every process reads the counter each second, and one that
//     could not for 30 seconds refuses everybody.
//   - Whom a token is for is its audience: "holdfast" for this API, the tenant's
//     own for a device's. Nobody can revoke the latter, so its 15 minutes begin
//     before its device is looked at.
//   - An issuer outside that a tenant trusts vouches for that tenant's callers only,
//     with asymmetric signatures, for its own audience and some scopes at most, and
//     one tenant at a time trusts it. Who it vouches for is a principal by issuer and
//     subject, whose id derives from both under the tenant's key: nobody else's. Its
//     keys are fetched when they are needed, from public addresses only, judged when
//     the socket connects (issuerdial.go), and kept for an hour when it is down.
//   - A tenant's state, whether its namespace is still importing, and at which
//     storage format its new collections begin, is decided in its control row,
//     and what follows from it (gates, what processes remember) is repaired from
//     there by repeating the call that changed it.
//   - A data database says which formats and rules a process must know to be
//     admitted, and demands a format before anything can begin at it. So no
//     process meets what it can't read.
//   - Ids of what operators make derive from an idempotency key, and secrets from
//     a server key, so that the retry of a lost answer finds the same thing with
//     the same secret, and only hashes are stored.
package tenancy
