package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func newLease(r *remote) *cobra.Command {
	return r.noun("lease", "Show who may write to a tenant's world, and take it from a node",
		newLeaseShow(r), newLeaseRevoke(r))
}

// leaseView is of a lease as it is now.
var leaseView = view[holdfast.Lease]{
	{"WORLD", func(l holdfast.Lease) string { return l.WorldID }},
	{"HOLDER", func(l holdfast.Lease) string { return holderOf(l.Holder) }},
	{"EPOCH", func(l holdfast.Lease) string { return strconv.FormatInt(l.Epoch, 10) }},
	{"ACTIVATED", func(l holdfast.Lease) string { return activated(l) }},
	{"EXPIRES", func(l holdfast.Lease) string { return whenever(l.ExpiresAt) }},
	{"REMAINING", func(l holdfast.Lease) string { return lasting(l.RemainingMs, time.Millisecond) }},
	{"TERM", func(l holdfast.Lease) string { return lasting(l.TermSeconds, time.Second) }},
	{"GRANTED POSITION", func(l holdfast.Lease) string { return numbered(l.GrantedPosition) }},
	{"RENEWED POSITION", func(l holdfast.Lease) string { return numbered(l.RenewedPosition) }},
	{"WRITTEN POSITION", func(l holdfast.Lease) string { return numbered(l.WrittenPosition) }},
	{"LAST POSITION", func(l holdfast.Lease) string { return strconv.FormatInt(l.Position, 10) }},
	{"AT", func(l holdfast.Lease) string { return whenever(l.At) }},
}

// provenLeaseView is of who had the lease at a position, which an entry proves.
var provenLeaseView = view[holdfast.Lease]{
	{"WORLD", func(l holdfast.Lease) string { return l.WorldID }},
	{"POSITION", func(l holdfast.Lease) string { return strconv.FormatInt(l.Position, 10) }},
	{"HOLDER", func(l holdfast.Lease) string { return holderOf(l.Holder) }},
	{"EPOCH", func(l holdfast.Lease) string { return strconv.FormatInt(l.Epoch, 10) }},
	{"MADE SO BY", func(l holdfast.Lease) string { return l.Proof.Kind }},
	{"AT POSITION", func(l holdfast.Lease) string { return strconv.FormatInt(l.Proof.Position, 10) }},
	{"AT", func(l holdfast.Lease) string { return when(l.Proof.At) }},
	{"HASH", func(l holdfast.Lease) string { return l.Proof.Hash }},
}

var writerView = view[holdfast.WriterChange]{
	{"WORLD", func(c holdfast.WriterChange) string { return c.WorldID }},
	{"HOLDER", func(c holdfast.WriterChange) string { return holderOf(c.Holder) }},
	{"EPOCH", func(c holdfast.WriterChange) string { return strconv.FormatInt(c.Epoch, 10) }},
	{"POSITION", func(c holdfast.WriterChange) string { return strconv.FormatInt(c.Position, 10) }},
}

// holderOf names a holder as the other commands on journals do.
func holderOf(a holdfast.JournalActor) string { return actorOf(a).String() }

func actorOf(a holdfast.JournalActor) journal.Actor {
	return journal.Actor{Type: journal.ActorType(a.Type), Issuer: a.Issuer, Subject: a.Subject}
}

// activated tells whether the holder may write yet.
func activated(l holdfast.Lease) string {
	switch {
	case l.Activated == nil:
		return "-"
	case *l.Activated:
		return "yes"
	default:
		return "no; due by " + whenever(l.ActivateBy)
	}
}

// lasting is for a duration that the coordinator's lease doesn't have.
func lasting(n *int64, unit time.Duration) string {
	if n == nil {
		return "-"
	}
	return (time.Duration(*n) * unit).String()
}

// numbered is for a number that may be absent.
func numbered(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
