package journal

// The kinds that leave the writer alone, and the one that ends all.

func (s *State) reject(e *Entry, d Rejected) *Fault {
	if wrong := d.Holder.wrong(); wrong != "" {
		return broken(RuleDetails, "%s", wrong)
	}
	switch {
	case !e.Actor.IsCoordinator() && e.Actor != d.Holder:
		return broken(RuleWriter, "only the coordinator tells of another's attempts")
	case d.Count < 1 || d.PresentedEpoch < 0:
		return broken(RuleDetails, "there was no such attempt")
	case d.CurrentEpoch < 1 || d.CurrentEpoch > e.Epoch:
		return broken(RuleDetails, "there was no such epoch")
	case d.FirstAt.IsZero() || d.LastAt.before(d.FirstAt):
		return broken(RuleDetails, "the last attempt comes before the first")
	default:
		return nil
	}
}

func (s *State) advise(e *Entry, d Advice) *Fault {
	switch {
	case !e.Actor.IsCoordinator():
		return broken(RuleWriter, "only the coordinator advises")
	case d.Band == "" || d.Advise == "":
		return broken(RuleDetails, "there is no advice")
	default:
		return nil
	}
}

func (s *State) retire(e *Entry, _ Retired) *Fault {
	switch {
	case e.Actor.IsCoordinator():
		return broken(RuleWriter, "a world is retired by somebody")
	case !s.Holder.IsCoordinator():
		return broken(RuleWriter, "a principal has the lease")
	}
	s.Retired = true
	return nil
}
