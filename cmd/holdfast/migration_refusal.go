package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// errOtherHash is what the API says of a hash that was superseded, in advance.
var errOtherHash = errors.New("that is the hash of no plan or envelope that the migration has now: look at it again, and name the hash that you see (plan_hash_differs)")

// demandStanding refuses a plan that another has taken the place of.
func (a act) demandStanding(t target) error {
	if a.about == standingPlan && !a.planless && t.hash != deref(t.Migration.PlanHash) {
		return errOtherHash
	}
	return nil
}

// hold holds the plan against what is so now, where the act demands that and its
// state allows it.
func (a act) hold(ctx context.Context, api caller, t target) (target, error) {
	if !a.current || t.hash == "" || t.hash != deref(t.Migration.PlanHash) || !a.allows(t) {
		return t, nil
	}
	var err error
	t.drift, err = driftOf(ctx, api, t.tenant, t.id)
	return t, err
}

// refusal is why the act would be refused, as far as can be told by looking; "" where
// nothing speaks against it.
func (a act) refusal(t target) string {
	if !a.allows(t) {
		return "that is for a migration that is " + either(a.states) + "."
	}
	if a.obstacle != nil {
		return a.obstacle(t)
	}
	return ""
}

// drifted says what of the plan isn't so any more, under a headline; "" for nothing
// that counts.
func drifted(headline string) func(target) string {
	return func(t target) string {
		drift := t.driftThatCounts()
		if len(drift) == 0 {
			return ""
		}
		return headline + "\n  " + strings.Join(driftLines(drift), "\n  ")
	}
}

// refusedByDrift is the obstacle of an act that takes a plan which is still so.
var refusedByDrift = drifted("its plan has drifted.")

// driftThatCounts leaves out the bucket's lifecycle rules behind the point of no
// return: others may have come by then, as long as none can delete bodies.
func (t target) driftThatCounts() []holdfast.PlanDrift {
	if !isActivated(t.Migration) {
		return t.drift
	}
	return slices.DeleteFunc(slices.Clone(t.drift), func(d holdfast.PlanDrift) bool {
		return d.Field == "/lifecycle" || d.Field == "/lifecycle_hash"
	})
}

// baselineMissing tells what is to be done where no baseline of the plan has passed,
// or of one that it carries over to another build; "" where one has.
func baselineMissing(t target) string {
	if t.Migration.State != "approved" {
		return "" // it passed the point of no return with one
	}
	plans := append([]string{deref(t.Migration.PlanHash)}, t.Migration.FormerPlanHashes...)
	for _, r := range t.Reports {
		if r.Kind == string(holdfast.VerifyBaseline) && deref(r.Passed) && slices.Contains(plans, r.PlanHash) {
			return ""
		}
	}
	return "no baseline of this plan has passed. First:\n  holdfast migration verify " + t.tenant + " " + t.id + " --phase baseline --execute"
}
