package main

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// rules reads the alerts as promtool does, and finds what it finds.
func rules(t *testing.T) (all []rulefmt.Rule) {
	t.Helper()
	groups, errs := rulefmt.ParseFile("alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if groups == nil {
		t.Fatal("no rules")
	}
	for _, group := range groups.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

func TestAlerts_AreValidAndSayHowUrgentTheyAreAndWhatToDo(t *testing.T) {
	page, err := os.ReadFile("../../docs/incidents.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := anchorsOf(string(page))
	names := map[string]bool{}
	for _, rule := range rules(t) {
		if rule.Alert == "" || names[rule.Alert] {
			t.Errorf("a rule is no alert, or another has its name: %+v", rule)
		}
		names[rule.Alert] = true
		if severity := rule.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s: the severity is %q", rule.Alert, severity)
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: it says nothing", rule.Alert)
		}
		slug := strings.ToLower(rule.Alert)
		if rule.Annotations["runbook"] != "docs/incidents.md#"+slug || !anchors[slug] {
			t.Errorf("%s: its part of docs/incidents.md should be a heading of that name, and is named %q", rule.Alert, rule.Annotations["runbook"])
		}
		delete(anchors, slug)
	}
	for anchor := range anchors {
		if strings.HasPrefix(anchor, "holdfast") {
			t.Errorf("docs/incidents.md has a part for %s, which is no alert", anchor)
		}
	}
}

var heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)

// anchorsOf are the headings as links name them.
func anchorsOf(page string) map[string]bool {
	anchors := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(strings.Trim(found[1], "`")), " ", "-")] = true
	}
	return anchors
}
