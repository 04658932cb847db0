package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// limitRow is one limit as it is shown.
type limitRow struct {
	name  string
	limit holdfast.EffectiveLimit
}

// limit is one limit by its name.
type limit struct {
	name  string
	shown func(holdfast.Limits) holdfast.EffectiveLimit
	asked func(*holdfast.SetLimits) **int64
}

var tenantLimits = []limit{
	{"requests_per_second", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.RequestsPerSecond }, func(s *holdfast.SetLimits) **int64 { return &s.RequestsPerSecond }},
	{"concurrent_requests", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.ConcurrentRequests }, func(s *holdfast.SetLimits) **int64 { return &s.ConcurrentRequests }},
	{"waiting_requests", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.WaitingRequests }, func(s *holdfast.SetLimits) **int64 { return &s.WaitingRequests }},
	{"entries_per_second", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.EntriesPerSecond }, func(s *holdfast.SetLimits) **int64 { return &s.EntriesPerSecond }},
	{"import_rows", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.ImportRows }, func(s *holdfast.SetLimits) **int64 { return &s.ImportRows }},
	{"accounts", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.Accounts }, func(s *holdfast.SetLimits) **int64 { return &s.Accounts }},
	{"devices", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.Devices }, func(s *holdfast.SetLimits) **int64 { return &s.Devices }},
	{"worlds", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.Worlds }, func(s *holdfast.SetLimits) **int64 { return &s.Worlds }},
	{"body_bytes", func(l holdfast.Limits) holdfast.EffectiveLimit { return l.BodyBytes }, func(s *holdfast.SetLimits) **int64 { return &s.BodyBytes }},
}

var limitView = view[limitRow]{
	{"LIMIT", func(r limitRow) string { return r.name }},
	{"VALUE", func(r limitRow) string { return strconv.FormatInt(r.limit.Limit, 10) }},
	{"SET", func(r limitRow) string {
		if r.limit.Default {
			return "default"
		}
		return "for this tenant"
	}},
}

func showLimits(l holdfast.Limits) answer {
	rows := make([]limitRow, len(tenantLimits))
	for i, of := range tenantLimits {
		rows[i] = limitRow{of.name, of.shown(l)}
	}
	shown := limitView.table(rows)
	shown.value = l
	return shown
}

func newTenantLimits(r *remote) *cobra.Command {
	var set map[string]string
	var reset []string
	command := &cobra.Command{
		Use:   "limits TENANT",
		Short: "Show, or say, what a tenant may do and have",
		Long: "Show a tenant's limits. With --set NAME=VALUE and --reset NAME, which may come several times, change\n" +
			"these and leave the others. Every server obeys within five seconds. Rates and requests under way are\n" +
			"of one server. A tenant that has more than a stock's limit keeps it, and gets no more.",
		Args: arguments("TENANT"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		change, err := limitChange(set, reset)
		if err != nil {
			return answer{}, err
		}
		now, err := api.GetLimitsWithResponse(ctx, args[0])
		if err != nil {
			return answer{}, err
		}
		if len(set)+len(reset) == 0 {
			return showLimits(*now.JSON200), nil
		}
		revision := strconv.Quote(strconv.FormatInt(now.JSON200.Revision, 10))
		after, err := api.SetLimitsWithResponse(ctx, args[0], &holdfast.SetLimitsParams{IfMatch: &revision}, change(*now.JSON200))
		if err != nil {
			return answer{}, err
		}
		return showLimits(*after.JSON200), nil
	})
	command.Flags().StringToStringVar(&set, "set", nil, "NAME=VALUE: a limit of this tenant's own")
	command.Flags().StringSliceVar(&reset, "reset", nil, "NAME: the default again")
	return command
}

// limitChange makes what is asked for from what is in force.
func limitChange(set map[string]string, reset []string) (func(holdfast.Limits) holdfast.SetLimits, error) {
	values := map[string]*int64{}
	for name, text := range set {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || value < 0 {
			return nil, exitError{exitUsage, fmt.Errorf("--set %s: %q is not a whole number", name, text)}
		}
		values[name] = &value
	}
	for _, name := range reset {
		values[name] = nil
	}
	for name := range values {
		if !slices.ContainsFunc(tenantLimits, func(l limit) bool { return l.name == name }) {
			return nil, exitError{exitUsage, fmt.Errorf("%s is no limit; these are: %s", name, limitNames())}
		}
	}
	return func(now holdfast.Limits) (want holdfast.SetLimits) {
		for _, l := range tenantLimits {
			value, changed := values[l.name]
			if is := l.shown(now); !changed && !is.Default {
				value = &is.Limit
			}
			*l.asked(&want) = value
		}
		return want
	}, nil
}

func limitNames() string {
	names := make([]string, len(tenantLimits))
	for i, l := range tenantLimits {
		names[i] = l.name
	}
	return strings.Join(names, ", ")
}

var usageView = view[holdfast.Usage]{
	{"ACCOUNTS", func(u holdfast.Usage) string { return strconv.FormatInt(u.Accounts, 10) }},
	{"DEVICES", func(u holdfast.Usage) string { return strconv.FormatInt(u.Devices, 10) }},
	{"WORLDS", func(u holdfast.Usage) string { return strconv.FormatInt(u.Worlds, 10) }},
	{"BODY BYTES", func(u holdfast.Usage) string { return strconv.FormatInt(u.BodyBytes, 10) }},
	{"COUNTED", func(u holdfast.Usage) string {
		if u.CountedAt == nil {
			return "not yet, everywhere"
		}
		return when(*u.CountedAt)
	}},
}

func newTenantUsage(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "usage TENANT",
		Short: "Show how much a tenant has of what is limited",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			counted, err := api.GetUsageWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return usageView.one(*counted.JSON200), nil
		}),
	}
}
