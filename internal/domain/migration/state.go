package migration

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// State is where a migration stands.
type State string

const (
	Requested  State = "requested"
	Previewed  State = "previewed"  // a plan was made, and shown
	Approved   State = "approved"   // by another operator than those who asked for it and made it
	Activating State = "activating" // behind the point of no return: some collections have the new format
	Active     State = "active"     // all collections have it, and their records are moved by runs
	Paused     State = "paused"
	Stopped    State = "stopped"  // for a review: what was found, or what could not be reached
	Drained    State = "drained"  // nothing is left in the former format
	Verified   State = "verified" // a recheck passed
	Closed     State = "closed"
	Aborted    State = "aborted"
)

// transitions are all that there are.
var transitions = map[State][]State{
	Requested:  {Previewed, Aborted},
	Previewed:  {Approved, Aborted},
	Approved:   {Previewed, Activating, Aborted},
	Activating: {Active, Stopped},
	Active:     {Paused, Stopped, Drained},
	Paused:     {Active, Stopped},
	Stopped:    {Activating, Active, Drained},
	Drained:    {Verified, Stopped},
	Verified:   {Closed, Stopped},
}

// MayBecome tells whether there is a transition.
func (s State) MayBecome(next State) bool { return slices.Contains(transitions[s], next) }

// Over tells a state that nothing follows.
func (s State) Over() bool { return len(transitions[s]) == 0 }

// OpenStates are the states of migrations that are not over, in the order in which
// they usually follow.
func OpenStates() []State {
	return []State{Requested, Previewed, Approved, Activating, Active, Paused, Stopped, Drained, Verified}
}

// Acts tells a state in which collections accept the plan.
func (s State) acts() bool {
	return slices.Contains([]State{Activating, Active, Paused, Stopped, Drained, Verified}, s)
}

// resting tells a state behind the activation in which no pass commits, so that a
// plan may be carried over to another build.
func (s State) resting() bool {
	return slices.Contains([]State{Paused, Stopped, Drained, Verified}, s)
}

// errState refuses what a state doesn't allow.
func errState(is State) *domain.Error {
	return domain.Conflict("migration_state",
		"The migration's state doesn't allow that. Look at where it stands, and decide anew.").With("state", string(is))
}

// resumesAt is where a resumption leads behind a stop in this state.
func (s State) resumesAt() State {
	switch s {
	case Activating:
		return Activating
	case Drained, Verified:
		return Drained // what was verified is to be verified again
	}
	return Active
}
