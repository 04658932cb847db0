package journal

import "fmt"

// Rule is what a journal breaks.
type Rule string

const (
	RuleLine       Rule = "line"       // the text is that of an entry
	RuleForm       Rule = "form"       // each part of an entry is in its form
	RulePosition   Rule = "position"   // positions are dense, from 1
	RuleChain      Rule = "chain"      // each hash is that of the entry behind the one in front
	RuleTime       Rule = "time"       // times never decrease
	RuleEpoch      Rule = "epoch"      // a new writer raises the epoch by one, and nothing else changes it
	RuleWriter     Rule = "writer"     // only who may act so does
	RuleTerm       Rule = "term"       // a lease has power before its end, and a principal's once it is activated
	RuleDetails    Rule = "details"    // details agree with the state that they speak of
	RuleRetired    Rule = "retired"    // nothing comes behind the end of a world
	RuleCheckpoint Rule = "checkpoint" // signed checkpoints hold
)

// Fault is where a journal breaks which rule.
type Fault struct {
	Position int64  `json:"position"` // of the entry at fault
	Rule     Rule   `json:"rule"`
	Detail   string `json:"detail"` // for people
}

func (f *Fault) Error() string {
	return fmt.Sprintf("position %d breaks the rule %q: %s", f.Position, f.Rule, f.Detail)
}

// broken is a fault in the entry at hand; Apply knows its position.
func broken(rule Rule, format string, args ...any) *Fault {
	return &Fault{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}
