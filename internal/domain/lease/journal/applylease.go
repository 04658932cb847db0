package journal

import "time"

// The kinds that make, keep and end a writer.

// coordinate makes the coordinator the writer.
func (s *State) coordinate() {
	s.install(Coordinator)
	s.Activated = true
}

// install makes a writer, whose lease is yet without term.
func (s *State) install(holder Actor) {
	s.Holder, s.Activated = holder, false
	s.TermSeconds, s.ExpiresAt, s.ActivateBy = 0, time.Time{}, time.Time{}
	s.GrantedPosition, s.RenewedPosition, s.WrittenPosition = s.Position, s.Position, s.Position
}

func (s *State) create(e *Entry, _ Created) *Fault {
	if e.Actor.IsCoordinator() {
		return broken(RuleWriter, "a world is somebody's")
	}
	s.coordinate()
	return nil
}

func (s *State) grant(e *Entry, d Granted) *Fault {
	switch {
	case !e.Actor.IsCoordinator():
		return broken(RuleWriter, "only the coordinator grants a lease")
	case !d.Holder.IsCoordinator():
		return broken(RuleDetails, "only the coordinator is granted a lease")
	case d.Epoch != e.Epoch || d.GrantedAtPosition != e.Position:
		return broken(RuleDetails, "epoch or position are not the entry's")
	}
	s.coordinate()
	return nil
}

func (s *State) handOff(e *Entry, d HandedOff) *Fault {
	switch {
	case d.From != s.Holder:
		return broken(RuleDetails, "the lease is another's than the one who hands it off")
	case d.Epoch != e.Epoch:
		return broken(RuleDetails, "the epoch is not the entry's")
	case e.Actor != d.From && !(d.From.IsCoordinator() && e.Actor == d.To):
		return broken(RuleWriter, "only its holder hands a lease off")
	case s.Ended(e.At):
		return broken(RuleTerm, "the lease has ended")
	}
	if d.To.IsCoordinator() {
		return s.handBack(d)
	}
	return s.handTo(e, d)
}

func (s *State) handBack(d HandedOff) *Fault {
	switch {
	case d.From.IsCoordinator():
		return broken(RuleDetails, "the coordinator has the lease")
	case d.TermSeconds != 0 || !d.ExpiresAt.IsZero() || !d.ActivateBy.IsZero():
		return broken(RuleDetails, "the coordinator's lease has no term")
	}
	s.coordinate()
	return nil
}

func (s *State) handTo(e *Entry, d HandedOff) *Fault {
	if wrong := d.To.wrong(); wrong != "" {
		return broken(RuleDetails, "%s", wrong)
	}
	switch {
	case d.To.Type != ActorPrincipal:
		return broken(RuleDetails, "a lease is handed to a principal or to the coordinator")
	case !termFits(e, d.TermSeconds, d.ExpiresAt):
		return broken(RuleTerm, "the expiry is not within a term from now")
	case d.ActivateBy.before(d.ExpiresAt):
		return broken(RuleTerm, "the lease outlives its activation deadline")
	}
	s.install(d.To)
	s.TermSeconds, s.ExpiresAt, s.ActivateBy = d.TermSeconds, time.Time(d.ExpiresAt), time.Time(d.ActivateBy)
	return nil
}

// termFits tells an expiry behind now, and at most a term from now.
func termFits(e *Entry, seconds int64, expires Time) bool {
	left := time.Time(expires).Sub(e.At)
	return 0 < left && seconds <= int64(maxTerm/time.Second) && left <= time.Duration(seconds)*time.Second
}

// maxTerm keeps a term's arithmetic from overflowing; leases are far shorter.
const maxTerm = 24 * time.Hour

func (s *State) activate(e *Entry, d Activated) *Fault {
	if fault := s.holds(e, d.Epoch); fault != nil {
		return fault
	}
	switch {
	case s.Activated:
		return broken(RuleDetails, "the lease is activated already")
	case d.ReplayedPosition < s.GrantedPosition || d.ReplayedPosition >= e.Position:
		return broken(RuleDetails, "what was replayed doesn't reach from the handoff to here")
	}
	s.Activated = true
	return nil
}

func (s *State) renew(e *Entry, d Renewed) *Fault {
	if fault := s.holds(e, d.Epoch); fault != nil {
		return fault
	}
	switch {
	case d.TermSeconds != s.TermSeconds:
		return broken(RuleDetails, "the term is not that of the lease")
	case time.Time(d.ExpiresAt).Before(s.ExpiresAt):
		return broken(RuleTerm, "the renewal shortens the lease")
	case !termFits(e, d.TermSeconds, d.ExpiresAt):
		return broken(RuleTerm, "the expiry is not within a term from now")
	case !s.Activated && time.Time(d.ExpiresAt).After(s.ActivateBy):
		return broken(RuleTerm, "the lease outlives its activation deadline")
	}
	s.ExpiresAt, s.RenewedPosition = time.Time(d.ExpiresAt), e.Position
	return nil
}

// holds checks that a principal acts on the lease in force, which is its own.
func (s *State) holds(e *Entry, epoch int64) *Fault {
	switch {
	case s.Holder.IsCoordinator():
		return broken(RuleWriter, "the coordinator has the lease, which has no term")
	case e.Actor != s.Holder:
		return broken(RuleWriter, "the lease is another's")
	case epoch != e.Epoch:
		return broken(RuleDetails, "the epoch is not the entry's")
	case s.Ended(e.At):
		return broken(RuleTerm, "the lease has ended")
	default:
		return nil
	}
}

func (s *State) revoke(e *Entry, d Revoked) *Fault {
	if wrong := d.By.wrong(); wrong != "" {
		return broken(RuleDetails, "%s", wrong)
	}
	switch {
	case s.Holder.IsCoordinator():
		return broken(RuleWriter, "the coordinator's lease can't be revoked")
	case !e.Actor.IsCoordinator() && e.Actor != d.By:
		return broken(RuleWriter, "it is by another than who acts")
	case d.Epoch != e.Epoch || d.RenewedPosition != s.RenewedPosition:
		return broken(RuleDetails, "it was decided from another epoch or renewal")
	case d.Reason == "" || (d.Reason == ReasonExpiry) != d.By.IsCoordinator():
		return broken(RuleDetails, "the coordinator revokes for %q, and others for reasons of theirs", ReasonExpiry)
	case d.Reason == ReasonExpiry && !s.Ended(e.At):
		return broken(RuleTerm, "the lease has not ended")
	}
	s.install(Actor{})
	return nil
}
