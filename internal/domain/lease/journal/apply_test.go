package journal_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// broken is an entry that breaks a rule where a story stands. It is chained, as a
// forger would do, unless its hash is what is wrong.
type broken struct {
	what string
	upTo func(*book)
	next func(*book) journal.Entry
	rule journal.Rule
}

// mustRefuse holds Apply to each, and to leaving the state as it was.
func mustRefuse(t *testing.T, all []broken) {
	t.Helper()
	for _, c := range all {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			if c.upTo != nil {
				c.upTo(b)
			}
			before, e := b.state, c.next(b)
			var fault *journal.Fault
			if err := b.state.Apply(e); !errors.As(err, &fault) {
				t.Fatalf("it is %v", err)
			}
			if fault.Rule != c.rule || fault.Position != e.Position {
				t.Errorf("%v; want the rule %q at position %d", fault, c.rule, e.Position)
			}
			if diff := cmp.Diff(before, b.state); diff != "" {
				t.Errorf("the state (-before +behind):\n%s", diff)
			}
		})
	}
}

// entry is an entry of a kind at the current epoch.
func entry(kind journal.Kind, by journal.Actor, details func(*book) any) func(*book) journal.Entry {
	return func(b *book) journal.Entry {
		b.t.Helper()
		return b.sealed(journal.Entry{Epoch: b.state.Epoch, Kind: kind, Actor: by}, details(b))
	}
}

// written is a tenant's entry of bytes.
func written(by journal.Actor) func(*book) journal.Entry {
	return entry(journal.KindEntry, by, func(*book) any { return journal.Written{Format: journal.FormatBytes} })
}

// altered changes an entry, and chains it again.
func altered(make func(*book) journal.Entry, alter func(*journal.Entry)) func(*book) journal.Entry {
	return func(b *book) journal.Entry {
		e := make(b)
		alter(&e)
		e.Hash = e.Chain(b.state.Hash)
		return e
	}
}

func raisesEpoch(e *journal.Entry) { e.Epoch++ }

// held has node A hold the lease, activated.
func held(b *book) { b.after(time.Second).handsTo(nodeA, nodeA).after(time.Second).activates() }

// handed has node A hold the lease, not activated yet.
func handed(b *book) { b.after(time.Second).handsTo(nodeA, nodeA).after(time.Second) }

// pastTheEnd has node A's lease ended, and nobody looked.
func pastTheEnd(b *book) { held(b); b.now = b.state.ExpiresAt }

func TestApply_RefusesAnEntryThatDoesNotFollow(t *testing.T) {
	t.Parallel()
	mustRefuse(t, []broken{
		{"a gap", nil, altered(written(shop), func(e *journal.Entry) { e.Position++ }), journal.RulePosition},
		{"a position again", nil, altered(written(shop), func(e *journal.Entry) { e.Position-- }), journal.RulePosition},
		{"the first position again", held, altered(written(nodeA), func(e *journal.Entry) { e.Position = 1 }), journal.RulePosition},
		{"another's hash", nil, func(b *book) journal.Entry {
			e := written(shop)(b)
			e.Hash[31] ^= 1
			return e
		}, journal.RuleChain},
		{"a hash of another entry in front", nil, func(b *book) journal.Entry {
			e := written(shop)(b)
			e.Hash = e.Chain(journal.Hash{})
			return e
		}, journal.RuleChain},
		{"a payload changed afterwards", nil, func(b *book) journal.Entry {
			e := written(shop)(b)
			e.Payload = []byte("changed")
			return e
		}, journal.RuleChain},
		{"an actor changed afterwards", nil, func(b *book) journal.Entry {
			e := written(shop)(b)
			e.Actor = owner
			return e
		}, journal.RuleChain},
		{"an earlier time", held, altered(written(nodeA), func(e *journal.Entry) { e.At = e.At.Add(-time.Microsecond) }), journal.RuleTime},
		{"an epoch that falls", held, altered(written(nodeA), func(e *journal.Entry) { e.Epoch-- }), journal.RuleEpoch},
		{"an epoch that rises by itself", held, altered(written(nodeA), raisesEpoch), journal.RuleEpoch},
		{"a handoff in the same epoch", held, entry(journal.KindLeaseHandedOff, nodeA, func(b *book) any { return b.handoff(nodeB) }), journal.RuleEpoch},
		{"a handoff that skips an epoch", held, altered(entry(journal.KindLeaseHandedOff, nodeA, func(b *book) any { return b.handoff(nodeB) }),
			func(e *journal.Entry) { e.Epoch += 2 }), journal.RuleEpoch},
		{"a grant in the same epoch", func(b *book) { held(b); b.revokesOnly(admin, "why") },
			entry(journal.KindLeaseGranted, journal.Coordinator, func(b *book) any { return b.granting() }), journal.RuleEpoch},
		{"a grant that skips an epoch", func(b *book) { held(b); b.revokesOnly(admin, "why") },
			altered(entry(journal.KindLeaseGranted, journal.Coordinator, func(b *book) any { return b.granting() }),
				func(e *journal.Entry) { e.Epoch += 2 }), journal.RuleEpoch},
		{"a second beginning", nil, altered(entry(journal.KindWorldCreated, owner, func(*book) any { return journal.Created{} }), raisesEpoch), journal.RuleWriter},
		{"a grant behind no revocation", held, altered(entry(journal.KindLeaseGranted, journal.Coordinator,
			func(b *book) any { return b.granting() }), raisesEpoch), journal.RuleWriter},
		{"an entry behind a revocation", func(b *book) { held(b); b.revokesOnly(admin, "why") }, written(nodeA), journal.RuleWriter},
		{"advice behind a revocation", func(b *book) { held(b); b.revokesOnly(admin, "why") }, entry(journal.KindAdvice, journal.Coordinator,
			func(*book) any { return journal.Advice{Band: "hot", Advise: "spill"} }), journal.RuleWriter},
		{"an entry behind the end", func(b *book) { b.retires() }, written(shop), journal.RuleRetired},
		{"a new beginning behind the end", func(b *book) { b.retires() }, altered(entry(journal.KindWorldCreated, owner,
			func(*book) any { return journal.Created{} }), raisesEpoch), journal.RuleRetired},
	})
}

func TestApply_RefusesAFirstEntryThatMakesNoWorld(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		entry journal.Entry
		rule  journal.Rule
	}{
		"an entry":        {journal.Entry{Position: 1, Epoch: 0, Kind: journal.KindEntry, Actor: shop, Details: []byte(`{"format":"bytes"}`)}, journal.RuleWriter},
		"epoch 0":         {journal.Entry{Position: 1, Epoch: 0, Kind: journal.KindWorldCreated, Actor: owner, Details: []byte(`{}`)}, journal.RuleEpoch},
		"epoch 2":         {journal.Entry{Position: 1, Epoch: 2, Kind: journal.KindWorldCreated, Actor: owner, Details: []byte(`{}`)}, journal.RuleEpoch},
		"position 0":      {journal.Entry{Position: 0, Epoch: 1, Kind: journal.KindWorldCreated, Actor: owner, Details: []byte(`{}`)}, journal.RulePosition},
		"nobody's":        {journal.Entry{Position: 1, Epoch: 1, Kind: journal.KindWorldCreated, Details: []byte(`{}`)}, journal.RuleForm},
		"the coordinator": {journal.Entry{Position: 1, Epoch: 1, Kind: journal.KindWorldCreated, Actor: journal.Coordinator, Details: []byte(`{}`)}, journal.RuleWriter},
	} {
		state := journal.Begin(tenant, world)
		c.entry.At = start
		c.entry.Hash = c.entry.Chain(state.Hash)
		var fault *journal.Fault
		if err := state.Apply(c.entry); !errors.As(err, &fault) || fault.Rule != c.rule {
			t.Errorf("%s: %v, want the rule %q", what, err, c.rule)
		}
	}
}

func TestApply_RefusesAnEntryOutsideTheLeaseInForce(t *testing.T) {
	t.Parallel()
	anonymous := journal.Actor{Type: journal.ActorPrincipal, Issuer: "https://id.example", Subject: nodeA.Subject}
	impostor := journal.Actor{Type: journal.ActorPrincipal, Issuer: "https://id.example", Subject: "coordinator"}
	mustRefuse(t, []broken{
		{"another principal's", held, written(shop), journal.RuleWriter},
		{"the subject of another issuer's", held, written(anonymous), journal.RuleWriter},
		{"the coordinator's", held, written(journal.Coordinator), journal.RuleWriter},
		{"the coordinator's, hosted", nil, written(journal.Coordinator), journal.RuleWriter},
		{"an operator's, hosted", nil, written(admin), journal.RuleWriter},
		{"an operator's with the holder's subject", held, written(journal.Actor{Type: journal.ActorOperator, Issuer: nodeA.Issuer, Subject: nodeA.Subject}), journal.RuleWriter},
		{"the former holder's, behind a handoff", func(b *book) { held(b); b.handsTo(nodeA, nodeB).activates() }, written(nodeA), journal.RuleWriter},
		{"before the activation", handed, written(nodeA), journal.RuleTerm},
		{"before the activation anew", func(b *book) { held(b); b.handsTo(nodeA, nodeA) }, written(nodeA), journal.RuleTerm},
		{"at the end", pastTheEnd, written(nodeA), journal.RuleTerm},
		{"behind the end", func(b *book) { pastTheEnd(b); b.after(time.Hour) }, written(nodeA), journal.RuleTerm},
		{"a subject called coordinator that hands off", nil, altered(entry(journal.KindLeaseHandedOff, impostor,
			func(b *book) any { return b.handoff(nodeA) }), raisesEpoch), journal.RuleWriter},
	})
}

func TestApply_LetsALeaseWriteUpToItsEnd(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	held(b)
	b.now = b.state.ExpiresAt.Add(-time.Microsecond)
	b.writes(nodeA, "", nil).renews()
	b.now = b.state.ExpiresAt
	b.expires()
	if got := b.writes(shop, "", nil).state; got.Epoch != 3 || !got.Holder.IsCoordinator() {
		t.Errorf("then %v holds, epoch %d", got.Holder, got.Epoch)
	}
}

func TestApply_RefusesARenewalThatGivesNoTime(t *testing.T) {
	t.Parallel()
	renewal := func(by journal.Actor, alter func(*journal.Renewed)) func(*book) journal.Entry {
		return entry(journal.KindLeaseRenewed, by, func(b *book) any {
			d := b.renewal()
			alter(&d)
			return d
		})
	}
	sooner := func(by time.Duration) func(*journal.Renewed) {
		return func(d *journal.Renewed) { d.ExpiresAt = journal.Time(time.Time(d.ExpiresAt).Add(-by)) }
	}
	same := func(*journal.Renewed) {}
	mustRefuse(t, []broken{
		{"one that shortens", func(b *book) { held(b); b.renews() }, renewal(nodeA, sooner(time.Microsecond)), journal.RuleTerm},
		{"one of an ended lease", pastTheEnd, renewal(nodeA, same), journal.RuleTerm},
		{"one beyond a term", held, renewal(nodeA, sooner(-time.Microsecond)), journal.RuleTerm},
		{"one beyond the activation deadline", func(b *book) { handed(b); b.after(28 * time.Second).renews().after(10 * time.Second) },
			renewal(nodeA, func(d *journal.Renewed) { d.ExpiresAt = journal.Time(start.Add(61*time.Second + time.Microsecond)) }), journal.RuleTerm},
		{"another term", held, renewal(nodeA, func(d *journal.Renewed) { d.TermSeconds = 60 }), journal.RuleDetails},
		{"another epoch", held, renewal(nodeA, func(d *journal.Renewed) { d.Epoch-- }), journal.RuleDetails},
		{"another's", held, renewal(nodeB, same), journal.RuleWriter},
		{"the coordinator's", nil, renewal(journal.Coordinator, same), journal.RuleWriter},
		{"the former holder's", func(b *book) { held(b); b.handsTo(nodeA, journal.Coordinator) }, renewal(nodeA, same), journal.RuleWriter},
	})
}

func TestApply_RefusesAnActivationThatIsNone(t *testing.T) {
	t.Parallel()
	activation := func(by journal.Actor, alter func(*journal.Activated)) func(*book) journal.Entry {
		return entry(journal.KindLeaseActivated, by, func(b *book) any {
			d := journal.Activated{Epoch: b.state.Epoch, ReplayedPosition: b.state.GrantedPosition}
			alter(&d)
			return d
		})
	}
	same := func(*journal.Activated) {}
	mustRefuse(t, []broken{
		{"a second one", held, activation(nodeA, same), journal.RuleDetails},
		{"another's", handed, activation(nodeB, same), journal.RuleWriter},
		{"the coordinator's", handed, activation(journal.Coordinator, same), journal.RuleWriter},
		{"while the coordinator holds", nil, activation(journal.Coordinator, same), journal.RuleWriter},
		{"another epoch", handed, activation(nodeA, func(d *journal.Activated) { d.Epoch-- }), journal.RuleDetails},
		{"not replayed through the handoff", handed, activation(nodeA, func(d *journal.Activated) { d.ReplayedPosition-- }), journal.RuleDetails},
		{"replayed what is not there", handed, activation(nodeA, func(d *journal.Activated) { d.ReplayedPosition++ }), journal.RuleDetails},
		{"behind the deadline", func(b *book) { handed(b); b.after(28 * time.Second).renews(); b.now = b.state.ActivateBy }, activation(nodeA, same), journal.RuleTerm},
	})
}

func TestApply_RefusesARevocationThatWasNotTheirs(t *testing.T) {
	t.Parallel()
	revocation := func(actor, by journal.Actor, reason string, alter func(*journal.Revoked)) func(*book) journal.Entry {
		return entry(journal.KindLeaseRevoked, actor, func(b *book) any {
			d := b.revocation(by, reason)
			alter(&d)
			return d
		})
	}
	same := func(*journal.Revoked) {}
	mustRefuse(t, []broken{
		{"before the end", held, revocation(journal.Coordinator, journal.Coordinator, journal.ReasonExpiry, same), journal.RuleTerm},
		{"before a renewed end", func(b *book) { held(b); end := b.state.ExpiresAt; b.renews(); b.now = end },
			revocation(journal.Coordinator, journal.Coordinator, journal.ReasonExpiry, same), journal.RuleTerm},
		{"decided from another renewal", func(b *book) { held(b); b.after(time.Second).renews() },
			revocation(admin, admin, "why", func(d *journal.Revoked) { d.RenewedPosition = 2 }), journal.RuleDetails},
		{"another epoch's", held, revocation(admin, admin, "why", func(d *journal.Revoked) { d.Epoch-- }), journal.RuleDetails},
		{"without a reason", held, revocation(admin, admin, "", same), journal.RuleDetails},
		{"an operator's for expiry", pastTheEnd, revocation(admin, admin, journal.ReasonExpiry, same), journal.RuleDetails},
		{"the coordinator's for a reason of its own", pastTheEnd, revocation(journal.Coordinator, journal.Coordinator, "why", same), journal.RuleDetails},
		{"in another's name", held, revocation(shop, admin, "why", same), journal.RuleWriter},
		{"by nobody", held, revocation(journal.Coordinator, journal.Actor{}, "why", same), journal.RuleDetails},
		{"of the coordinator", nil, revocation(admin, admin, "why", same), journal.RuleWriter},
	})
}

func TestApply_RefusesAGrantThatTheCoordinatorDidNotMakeItself(t *testing.T) {
	t.Parallel()
	revoked := func(b *book) { held(b); b.revokesOnly(admin, "why") }
	granting := func(by journal.Actor, alter func(*journal.Granted)) func(*book) journal.Entry {
		return altered(entry(journal.KindLeaseGranted, by, func(b *book) any {
			d := b.granting()
			alter(&d)
			return d
		}), raisesEpoch)
	}
	mustRefuse(t, []broken{
		{"an operator's", revoked, granting(admin, func(*journal.Granted) {}), journal.RuleWriter},
		{"to a node", revoked, granting(journal.Coordinator, func(d *journal.Granted) { d.Holder = nodeA }), journal.RuleDetails},
		{"another epoch's", revoked, granting(journal.Coordinator, func(d *journal.Granted) { d.Epoch-- }), journal.RuleDetails},
		{"of elsewhere", revoked, granting(journal.Coordinator, func(d *journal.Granted) { d.GrantedAtPosition-- }), journal.RuleDetails},
	})
}

func TestApply_RefusesAHandoffThatIsNotTheHolders(t *testing.T) {
	t.Parallel()
	handoff := func(by, to journal.Actor, alter func(*journal.HandedOff)) func(*book) journal.Entry {
		return altered(entry(journal.KindLeaseHandedOff, by, func(b *book) any {
			d := b.handoff(to)
			alter(&d)
			return d
		}), raisesEpoch)
	}
	same := func(*journal.HandedOff) {}
	expires := func(in time.Duration) func(*journal.HandedOff) {
		return func(d *journal.HandedOff) { d.ExpiresAt = journal.Time(start.Add(in)) }
	}
	mustRefuse(t, []broken{
		{"the next holder's own", held, handoff(nodeB, nodeB, same), journal.RuleWriter},
		{"the coordinator's", held, handoff(journal.Coordinator, nodeB, same), journal.RuleWriter},
		{"a third party's", nil, handoff(shop, nodeA, same), journal.RuleWriter},
		{"from another than the holder", held, handoff(nodeA, nodeB, func(d *journal.HandedOff) { d.From = journal.Coordinator }), journal.RuleDetails},
		{"another epoch's", held, handoff(nodeA, nodeB, func(d *journal.HandedOff) { d.Epoch-- }), journal.RuleDetails},
		{"at the end", pastTheEnd, handoff(nodeA, nodeB, same), journal.RuleTerm},
		{"back at the end", pastTheEnd, handoff(nodeA, journal.Coordinator, same), journal.RuleTerm},
		{"from the coordinator to itself", nil, handoff(journal.Coordinator, journal.Coordinator, same), journal.RuleDetails},
		{"to an operator", nil, handoff(journal.Coordinator, admin, same), journal.RuleDetails},
		{"to nobody", nil, handoff(journal.Coordinator, journal.Actor{}, same), journal.RuleDetails},
		{"a term for the coordinator", held, handoff(nodeA, journal.Coordinator, func(d *journal.HandedOff) { d.TermSeconds = 30 }), journal.RuleDetails},
		{"an expiry for the coordinator", held, handoff(nodeA, journal.Coordinator, expires(time.Minute)), journal.RuleDetails},
		{"a deadline for the coordinator", held, handoff(nodeA, journal.Coordinator, func(d *journal.HandedOff) { d.ActivateBy = journal.Time(start) }), journal.RuleDetails},
		{"no term", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.TermSeconds = 0 }), journal.RuleTerm},
		{"no expiry", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.ExpiresAt = journal.Time{} }), journal.RuleTerm},
		{"ended at once", nil, handoff(nodeA, nodeA, expires(0)), journal.RuleTerm},
		{"more than a term", nil, handoff(nodeA, nodeA, expires(30*time.Second+time.Microsecond)), journal.RuleTerm},
		{"to a principal without a subject", nil, handoff(journal.Coordinator, journal.Actor{Type: journal.ActorPrincipal, Issuer: "holdfast"}, same), journal.RuleDetails},
		{"a term of more than a day", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.TermSeconds = 24*60*60 + 1 }), journal.RuleTerm},
		{"a term beyond all bounds", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.TermSeconds = 1 << 52 }), journal.RuleTerm},
		{"no deadline", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.ActivateBy = journal.Time{} }), journal.RuleTerm},
		{"a deadline before the expiry", nil, handoff(nodeA, nodeA, func(d *journal.HandedOff) { d.ActivateBy = journal.Time(start.Add(29 * time.Second)) }), journal.RuleTerm},
	})
}

func TestApply_RefusesEvidenceAndAdviceThatIsNone(t *testing.T) {
	t.Parallel()
	rejection := func(by journal.Actor, alter func(*journal.Rejected)) func(*book) journal.Entry {
		return entry(journal.KindAppendRejected, by, func(b *book) any {
			d := b.rejection(shop, 1, 1)
			alter(&d)
			return d
		})
	}
	advice := func(by journal.Actor, d journal.Advice) func(*book) journal.Entry {
		return entry(journal.KindAdvice, by, func(*book) any { return d })
	}
	mustRefuse(t, []broken{
		{"of no attempt", held, rejection(shop, func(d *journal.Rejected) { d.Count = 0 }), journal.RuleDetails},
		{"with an epoch below all", held, rejection(shop, func(d *journal.Rejected) { d.PresentedEpoch = -1 }), journal.RuleDetails},
		{"met no epoch", held, rejection(shop, func(d *journal.Rejected) { d.CurrentEpoch = 0 }), journal.RuleDetails},
		{"met a later epoch", held, rejection(shop, func(d *journal.Rejected) { d.CurrentEpoch = 3 }), journal.RuleDetails},
		{"last before first", held, rejection(shop, func(d *journal.Rejected) { d.FirstAt, d.LastAt = d.LastAt, d.FirstAt }), journal.RuleDetails},
		{"at no time", held, rejection(shop, func(d *journal.Rejected) { d.FirstAt = journal.Time{} }), journal.RuleDetails},
		{"told by a third party", held, rejection(nodeA, func(*journal.Rejected) {}), journal.RuleWriter},
		{"of nobody", held, rejection(journal.Coordinator, func(d *journal.Rejected) { d.Holder = journal.Actor{} }), journal.RuleDetails},
		{"another's advice", held, advice(nodeA, journal.Advice{Band: "hot", Advise: "spill"}), journal.RuleWriter},
		{"advice in no band", held, advice(journal.Coordinator, journal.Advice{Advise: "spill"}), journal.RuleDetails},
		{"advice without advice", held, advice(journal.Coordinator, journal.Advice{Band: "hot"}), journal.RuleDetails},
		{"an end while a node holds", held, entry(journal.KindWorldRetired, owner, func(*book) any { return journal.Retired{} }), journal.RuleWriter},
		{"an end by the coordinator", nil, entry(journal.KindWorldRetired, journal.Coordinator, func(*book) any { return journal.Retired{} }), journal.RuleWriter},
	})
}

func TestApply_RefusesWhatIsNotInItsForm(t *testing.T) {
	t.Parallel()
	advice := entry(journal.KindAdvice, journal.Coordinator, func(*book) any { return journal.Advice{Band: "hot", Advise: "spill"} })
	details := func(text string) func(*journal.Entry) {
		return func(e *journal.Entry) { e.Details = json.RawMessage(text) }
	}
	actor := func(typ journal.ActorType, issuer, subject string) func(*journal.Entry) {
		return func(e *journal.Entry) { e.Actor = journal.Actor{Type: typ, Issuer: issuer, Subject: subject} }
	}
	id := func(id string) func(*journal.Entry) { return func(e *journal.Entry) { e.EntryID = id } }
	mustRefuse(t, []broken{
		{"an unknown kind", nil, altered(advice, func(e *journal.Entry) { e.Kind = "lease_lent" }), journal.RuleForm},
		{"no kind", nil, altered(advice, func(e *journal.Entry) { e.Kind = "" }), journal.RuleForm},
		{"an unknown actor", nil, altered(advice, actor("root", "a", "b")), journal.RuleForm},
		{"a coordinator with a subject", nil, altered(advice, actor(journal.ActorCoordinator, "", "x")), journal.RuleForm},
		{"a principal without a subject", nil, altered(written(shop), actor(journal.ActorPrincipal, "holdfast", "")), journal.RuleForm},
		{"a principal without an issuer", nil, altered(written(shop), actor(journal.ActorPrincipal, "", "x")), journal.RuleForm},
		{"a subject that is no UTF-8", nil, altered(written(shop), actor(journal.ActorPrincipal, "holdfast", "\xff")), journal.RuleForm},
		{"a time too fine", nil, altered(written(shop), func(e *journal.Entry) { e.At = e.At.Add(time.Nanosecond) }), journal.RuleForm},
		{"an id with a space", nil, altered(written(shop), id("a b")), journal.RuleForm},
		{"an id beyond ASCII", nil, altered(written(shop), id("é")), journal.RuleForm},
		{"an id of 65 bytes", nil, altered(written(shop), id(strings.Repeat("x", 65))), journal.RuleForm},
		{"an id of Holdfast's own", nil, altered(advice, id("a")), journal.RuleForm},
		{"a payload of Holdfast's own", nil, altered(advice, func(e *journal.Entry) { e.Payload = []byte("x") }), journal.RuleForm},
		{"an unknown format", nil, altered(written(shop), details(`{"format":"xml"}`)), journal.RuleDetails},
		{"details in another spelling", nil, altered(written(shop), details(`{"format": "bytes"}`)), journal.RuleDetails},
		{"JSON in another spelling", nil, altered(written(shop), func(e *journal.Entry) {
			e.Details, e.Payload = json.RawMessage(`{"format":"json"}`), []byte(`{"a": 1}`)
		}), journal.RuleDetails},
		{"JSON that is none", nil, altered(written(shop), details(`{"format":"json"}`)), journal.RuleDetails},
		{"details out of order", nil, altered(advice, details(`{"band":"hot","advise":"spill"}`)), journal.RuleDetails},
		{"details with more", nil, altered(advice, details(`{"advise":"spill","band":"hot","by":"x"}`)), journal.RuleDetails},
		{"details with less", nil, altered(advice, details(`{"advise":"spill"}`)), journal.RuleDetails},
		{"no details", nil, altered(advice, details(``)), journal.RuleDetails},
		{"details that are no object", nil, altered(advice, details(`[]`)), journal.RuleDetails},
	})
}

// RFC 8785 keeps integers up to 2^53-1, and a header has no other.
func TestApply_RefusesIntegersThatNoHeaderKeeps(t *testing.T) {
	t.Parallel()
	const most = 1<<53 - 1
	b := newBook(t)
	b.state.Position = most - 1
	b.writes(shop, "", nil)
	mustBreak(t, b.state.Apply(written(shop)(b)), journal.RuleForm, most+1)

	b = newBook(t)
	b.state.Epoch = most - 1
	b.handsTo(nodeA, nodeA).activates()
	mustBreak(t, b.state.Apply(b.sealed(journal.Entry{Epoch: most + 1, Kind: journal.KindLeaseHandedOff, Actor: nodeA}, struct{}{})), journal.RuleForm, 4)
}

func TestValidEntryID_IsPrintableASCIIOfUpTo64Bytes(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"!": true, "~": true, strings.Repeat("x", 64): true,
		"": false, " ": false, "\x7f": false, "\n": false, "é": false, strings.Repeat("x", 65): false,
	} {
		if got := journal.ValidEntryID(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}
