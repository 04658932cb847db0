// Package limits keeps one tenant from taking what others need.
//
// A tenant's limits stand in the control database (Store), where an operator
// sets them; what isn't set is the default. A process holds callers to them
// (Limiter), by what it read of them at most a few seconds ago:
//
//   - Rates are a process's own: requests and journal entries a second, each a
//     bucket of one second's worth. Over a rate a request is refused, and told
//     when it may come again.
//   - Requests under way are a process's own too. Those above the limit wait
//     for their turn, in the order in which they came, for a moment and not too
//     many; so a tenant with more callers than turns gets all its turns, and
//     another's requests meet no more than these.
//   - Stocks (accounts, devices, worlds, bytes of bodies) are of the whole
//     installation. Nobody counts them in the transaction that adds to them,
//     which would make one row of a tenant everybody's lock. The worker counts
//     them from time to time (Counter), and a process adds what it made since.
//     So they are approximate while writes race, by what the processes made
//     since the last count.
//
// A process that can't read a tenant's limits goes on with those it knows, or
// with the defaults: who may call at all is decided elsewhere, and fails closed.
package limits
