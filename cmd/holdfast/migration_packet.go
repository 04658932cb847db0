package main

import (
	"fmt"
	"strings"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// packet is a plan's packet under its hash.
type packet struct {
	hash string
	holdfast.MigrationPacket
}

var packetView = view[packet]{
	{"PLAN", func(p packet) string { return p.hash }},
	{"MIGRATION", func(p packet) string { return p.MigrationID }},
	{"TENANT", func(p packet) string { return p.TenantID }},
	{"KIND", func(p packet) string {
		return fmt.Sprintf("%s, format %d to %d", p.Kind, p.FromFormat, p.ToFormat)
	}},
	{"SCOPE", func(p packet) string { return strings.Join(p.Scope, " or ") }},
	{"BUILD", func(p packet) string { return p.Build }},
	{"ROLLBACK FLOOR", func(p packet) string { return p.RollbackFloorBuild }},
	{"QUALIFICATION", func(p packet) string { return p.Qualification }},
	{"DATABASES", func(p packet) string { return databasesOf(p.Databases) }},
	{"OBJECT STORE", func(p packet) string { return storeOf(&p.Store) }},
	{"LIFECYCLE RULES", func(p packet) string { return rulesOf(p.Lifecycle) }},
	{"LIFECYCLE HASH", func(p packet) string {
		return p.LifecycleHash + ", read " + when(p.LifecycleObservedAt)
	}},
	{"CAPS", func(p packet) string { return capsOf(&p.Caps) }},
	{"FREE SPACE", func(p packet) string { return sizedOr(p.FreeBytes, "not stated") }},
	{"STOPS WHEN", func(p packet) string { return strings.Join(p.StopRules, "; ") }},
	{"PREVIEWED BY", func(p packet) string { return p.Operator.Name }},
}

func databasesOf(all []holdfast.DatabaseIdentity) string {
	var names []string
	for _, d := range all {
		names = append(names, fmt.Sprintf("%s (cluster %s, database %d, numbers %s)", d.Name, d.SystemIdentifier, d.DatabaseOid, d.Numbers))
	}
	return strings.Join(names, "; ")
}

func storeOf(s *holdfast.StorePlace) string {
	if s == nil || s.Bucket == "" {
		return "none"
	}
	return fmt.Sprintf("%s, bucket %s, prefix %q", s.Endpoint, s.Bucket, s.Prefix)
}

func rulesOf(rules []holdfast.LifecycleRule) string {
	if len(rules) == 0 {
		return "the bucket has none"
	}
	var all []string
	for _, r := range rules {
		switch {
		case !r.Enabled:
			all = append(all, fmt.Sprintf("%q, disabled", r.ID))
		case r.Deletes:
			all = append(all, fmt.Sprintf("%q deletes under %q", r.ID, r.Prefix))
		default:
			all = append(all, fmt.Sprintf("%q deletes nothing", r.ID))
		}
	}
	return strings.Join(all, "; ") + "; none can delete bodies"
}

func sizedOr(bytes *int64, without string) string {
	if bytes == nil {
		return without
	}
	return sized(*bytes)
}
