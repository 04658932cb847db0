package journal

import "bytes"

// Apply moves the state on by the next entry. Where that breaks a rule it gives a
// *Fault and leaves the state as it was.
//
// What one entry can't show is not checked: that entry ids are unique.
func (s *State) Apply(e Entry) error {
	next := *s
	if fault := next.apply(&e); fault != nil {
		fault.Position = e.Position
		return fault
	}
	*s = next
	return nil
}

func (s *State) apply(e *Entry) *Fault {
	if fault := s.links(e); fault != nil {
		return fault
	}
	if fault := e.form(); fault != nil {
		return fault
	}
	if fault := s.follows(e); fault != nil {
		return fault
	}
	s.Position, s.Epoch, s.Hash, s.LastAt = e.Position, e.Epoch, e.Hash, e.At
	return s.act(e)
}

// links checks that this entry, as it is, stands behind the one in front.
func (s *State) links(e *Entry) *Fault {
	switch {
	case s.Retired:
		return broken(RuleRetired, "the world was retired at position %d", s.Position)
	case e.Position != s.Position+1:
		return broken(RulePosition, "it comes behind position %d", s.Position)
	case e.Hash != e.Chain(s.Hash) && s.Position == 0:
		return broken(RuleChain, "the hash is not that of this entry as the first of this tenant's world")
	case e.Hash != e.Chain(s.Hash):
		return broken(RuleChain, "the hash is not that of this entry behind the one in front")
	default:
		return nil
	}
}

// form checks what holds of an entry alone.
func (e *Entry) form() *Fault {
	if wrong := e.Actor.wrong(); wrong != "" {
		return broken(RuleForm, "%s", wrong)
	}
	switch {
	case e.Position > MaxInteger || e.Epoch > MaxInteger:
		return broken(RuleForm, "position or epoch are beyond 2^53-1")
	case e.At.Nanosecond()%1000 != 0:
		return broken(RuleForm, "the time is finer than a microsecond")
	case e.Kind != KindEntry && e.EntryID != "":
		return broken(RuleForm, "only a tenant's entry has an id")
	case e.Kind != KindEntry && len(e.Payload) > 0:
		return broken(RuleForm, "only a tenant's entry has a payload")
	case e.EntryID != "" && !ValidEntryID(e.EntryID):
		return broken(RuleForm, "the entry id is not 1 to %d printable ASCII characters", maxEntryID)
	default:
		return nil
	}
}

// ValidEntryID tells 1 to 64 bytes of printable ASCII without space.
func ValidEntryID(id string) bool {
	for i := range len(id) {
		if id[i] < '!' || id[i] > '~' {
			return false
		}
	}
	return 1 <= len(id) && len(id) <= maxEntryID
}

// follows checks time and epoch, and which kinds have their turn.
func (s *State) follows(e *Entry) *Fault {
	epoch := s.Epoch
	if e.Kind.MakesWriter() {
		epoch++
	}
	switch {
	case e.At.Before(s.LastAt):
		return broken(RuleTime, "it is earlier than the entry in front")
	case (s.Position == 0) != (e.Kind == KindWorldCreated):
		return broken(RuleWriter, "a journal begins with %s, once", KindWorldCreated)
	case s.Position > 0 && s.Holder.IsNobody() != (e.Kind == KindLeaseGranted):
		return broken(RuleWriter, "behind %s comes %s, and nowhere else", KindLeaseRevoked, KindLeaseGranted)
	case e.Epoch != epoch:
		return broken(RuleEpoch, "epoch %d has to be %d", e.Epoch, epoch)
	default:
		return nil
	}
}

// act does what the entry says. Position, epoch, hash and time are the entry's
// already; the rest is as it was in front of it.
func (s *State) act(e *Entry) *Fault {
	switch e.Kind {
	case KindEntry:
		return s.write(e)
	case KindWorldCreated:
		return with(e, s.create)
	case KindLeaseGranted:
		return with(e, s.grant)
	case KindLeaseRenewed:
		return with(e, s.renew)
	case KindLeaseRevoked:
		return with(e, s.revoke)
	case KindLeaseHandedOff:
		return with(e, s.handOff)
	case KindLeaseActivated:
		return with(e, s.activate)
	case KindAppendRejected:
		return with(e, s.reject)
	case KindAdvice:
		return with(e, s.advise)
	case KindWorldRetired:
		return with(e, s.retire)
	default:
		return broken(RuleForm, "the kind is unknown")
	}
}

// with gives an entry and its details to what acts on them.
func with[T any](e *Entry, act func(*Entry, T) *Fault) *Fault {
	details, err := DetailsOf[T](e)
	if err != nil {
		return broken(RuleDetails, "they are not those of %s in canonical form", e.Kind)
	}
	return act(e, details)
}

// writtenJSON and writtenBytes are all the details that a tenant's entry can have.
const (
	writtenJSON  = `{"format":"` + FormatJSON + `"}`
	writtenBytes = `{"format":"` + FormatBytes + `"}`
)

// write takes most of a journal, and so doesn't decode its details.
func (s *State) write(e *Entry) *Fault {
	switch string(e.Details) {
	case writtenBytes:
	case writtenJSON:
		if canonical, err := CanonicalJSON(e.Payload); err != nil || !bytes.Equal(canonical, e.Payload) {
			return broken(RuleDetails, "the payload is not canonical JSON")
		}
	default:
		return broken(RuleDetails, "they are not those of %s in canonical form", e.Kind)
	}
	switch {
	case s.Holder.IsCoordinator() && e.Actor.Type != ActorPrincipal:
		return broken(RuleWriter, "only principals write through the coordinator")
	case !s.Holder.IsCoordinator() && e.Actor != s.Holder:
		return broken(RuleWriter, "the lease is another's")
	case !s.Activated:
		return broken(RuleTerm, "the lease has not been activated")
	case s.Ended(e.At):
		return broken(RuleTerm, "the lease has ended")
	}
	s.WrittenPosition = e.Position
	return nil
}
