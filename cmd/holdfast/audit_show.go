package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var auditView = view[holdfast.AuditEntry]{
	{"ENTRY", func(e holdfast.AuditEntry) string { return strconv.FormatInt(e.Sequence, 10) }},
	{"AT", func(e holdfast.AuditEntry) string { return when(e.At) }},
	{"OUTCOME", func(e holdfast.AuditEntry) string { return string(e.Outcome) }},
	{"OF", func(e holdfast.AuditEntry) string { return numberOrDash(e.Act) }},
	{"WHO", func(e holdfast.AuditEntry) string { return who(e.Actor) }},
	{"OPERATION", func(e holdfast.AuditEntry) string { return e.Operation }},
	{"ABOUT", func(e holdfast.AuditEntry) string { return subjectsOf(e.Subjects) }},
	{"CODE", func(e holdfast.AuditEntry) string { return textOrDash(e.Code) }},
}

// wantedAudit are the flags that say which entries are wanted.
type wantedAudit struct {
	tenant, operator, operation string
	from, to                    time.Time
	given                       func(flag string) bool
}

func newAuditShow(r *remote) *cobra.Command {
	var want wantedAudit
	command := &cobra.Command{
		Use:   "show",
		Short: "Show administrative acts, of the last day by default",
		Long: "Show administrative acts, of the last day by default.\n\n" +
			"An act has two entries: begun, and its outcome, which names the first. One that was begun and has\n" +
			"no outcome may or may not have been done.",
		Args:    arguments(),
		PreRunE: func(*cobra.Command, []string) error { return want.check() },
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.AuditEntry, *string, error) {
				page, err := api.ListAuditWithResponse(ctx, want.params(cursor))
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Entries, page.JSON200.NextCursor, nil
			})
			return auditView.table(all), err
		}),
	}
	want.addFlags(command)
	return command
}

func (w *wantedAudit) addFlags(command *cobra.Command) {
	flags := command.Flags()
	w.given = flags.Changed
	flags.StringVar(&w.tenant, "tenant", "", "only what concerns this tenant, by its `id`")
	flags.StringVar(&w.operator, "operator", "", "only what the operator of this `name` did")
	flags.StringVar(&w.operation, "operation", "", "only this operation, by its `operationId`")
	formats := []string{time.RFC3339, time.DateOnly}
	flags.TimeVar(&w.from, "from", time.Now().Add(-24*time.Hour), formats, "not before, 2027-01-31 or 2027-01-31T12:00:00Z say")
	flags.TimeVar(&w.to, "to", time.Time{}, formats, "before; now by default")
	flags.Lookup("from").DefValue = ""
	flags.Lookup("to").DefValue = ""
}

// check refuses what no entry could be.
func (w *wantedAudit) check() error {
	switch {
	case w.given("tenant") && !isA("TENANT", w.tenant):
		return exitError{exitUsage, fmt.Errorf("--tenant %q is not an id", w.tenant)}
	case !w.given("to") || w.to.After(w.from):
		return nil
	case !w.given("from"):
		return exitError{exitUsage, fmt.Errorf("--to %s is before the last day, from which on entries are shown without --from", when(w.to))}
	default:
		return exitError{exitUsage, fmt.Errorf("--from %s is not earlier than --to %s", when(w.from), when(w.to))}
	}
}

func (w *wantedAudit) params(cursor *string) *holdfast.ListAuditParams {
	params := &holdfast.ListAuditParams{Limit: new(pageSize), Cursor: cursor, From: &w.from}
	if w.given("to") {
		params.To = &w.to
	}
	params.TenantID, params.Operator, params.Operation = wanted(w.tenant), wanted(w.operator), wanted(w.operation)
	return params
}

// wanted is nil for a filter that isn't given.
func wanted(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// who is an actor by its name, and a tenant's program as one.
func who(a *holdfast.AuditActor) string {
	switch {
	case a == nil:
		return "-"
	case a.TenantID != nil:
		return fmt.Sprintf("%s of tenant %s", a.Name, *a.TenantID)
	default:
		return a.Name
	}
}

func subjectsOf(subjects *map[string]string) string {
	if subjects == nil {
		return "-"
	}
	var all []string
	for name, value := range *subjects {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func numberOrDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func textOrDash(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
