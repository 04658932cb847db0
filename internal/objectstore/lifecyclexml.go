package objectstore

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// element is any XML element, with all that is in it.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (e element) name() string { return e.XMLName.Local }

// parseLifecycle reads a LifecycleConfiguration. It refuses what it doesn't
// understand, except inside a rule: there the rule is taken for the worst that it
// could be.
func parseLifecycle(document []byte) ([]domain.LifecycleRule, error) {
	var root element
	if err := xml.Unmarshal(document, &root); err != nil {
		return nil, err
	}
	if root.name() != "LifecycleConfiguration" {
		return nil, errors.New("the document is another one")
	}
	var rules []domain.LifecycleRule
	for _, child := range root.Children {
		if child.name() != "Rule" {
			return nil, fmt.Errorf("there is something else among the rules: %s", child.name())
		}
		rule, err := parseRule(child)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseRule(e element) (domain.LifecycleRule, error) {
	var rule domain.LifecycleRule
	var statuses, scopes int
	for _, part := range e.Children {
		switch part.name() {
		case "ID":
			rule.ID = part.Text
		case "Status":
			statuses++
			rule.Enabled = part.Text == "Enabled"
			if !rule.Enabled && part.Text != "Disabled" {
				return rule, fmt.Errorf("a rule's status is %q", part.Text)
			}
		case "Prefix", "Filter":
			scopes++
			rule.Prefix = prefixOf(part)
			rule.Conditions = append(rule.Conditions, canonical(part))
		default:
			rule.Deletes = rule.Deletes || takesAway(part)
			rule.Actions = append(rule.Actions, canonical(part))
		}
	}
	if statuses != 1 {
		return rule, errors.New("a rule has no status, or several")
	}
	if scopes > 1 { // nobody knows which one counts
		rule.Prefix = ""
	}
	if len(rule.Actions) == 0 {
		rule.Deletes = true
	}
	slices.Sort(rule.Conditions)
	slices.Sort(rule.Actions)
	return rule, nil
}

// prefixOf is what the keys of all objects that a Filter, or the Prefix of older
// rules, can match begin with: "" unless that is certain.
func prefixOf(e element) string {
	if e.name() == "Prefix" {
		return e.Text
	}
	switch {
	case len(e.Children) == 1 && e.Children[0].name() == "Prefix":
		return e.Children[0].Text
	case len(e.Children) == 1 && e.Children[0].name() == "And":
		return prefixOfAll(e.Children[0].Children)
	}
	return ""
}

// prefixOfAll is the one prefix among conditions that all must hold. What the
// others are doesn't matter: they can only take objects away.
func prefixOfAll(conditions []element) (prefix string) {
	found := 0
	for _, c := range conditions {
		if c.name() == "Prefix" {
			prefix = c.Text
			found++
		}
	}
	if found != 1 {
		return ""
	}
	return prefix
}

// takesAway tells whether an action can delete an object that nothing replaced, or
// make it unreadable. Of an action that isn't known it must be feared.
func takesAway(action element) bool {
	switch action.name() {
	case "AbortIncompleteMultipartUpload", "NoncurrentVersionExpiration", "NoncurrentVersionTransition":
		return false
	case "Transition":
		return !slices.ContainsFunc(action.Children, isReadableClass)
	default: // Expiration, in days, at a date, or of the last marker: all of it
		return true
	}
}

// isReadableClass tells a storage class whose objects answer a GET at once.
func isReadableClass(e element) bool {
	return e.name() == "StorageClass" &&
		slices.Contains([]string{"STANDARD", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR"}, e.Text)
}

// canonical is an element as a line of text that depends on what it says only:
// Expiration(Days="30"). Space counts in a prefix, and nowhere else.
func canonical(e element) string {
	if len(e.Children) == 0 {
		text := e.Text
		if e.name() != "Prefix" {
			text = strings.TrimSpace(text)
		}
		return e.name() + "=" + strconv.Quote(text)
	}
	parts := make([]string, len(e.Children))
	for i, child := range e.Children {
		parts[i] = canonical(child)
	}
	slices.Sort(parts)
	return e.name() + "(" + strings.Join(parts, ",") + ")"
}
