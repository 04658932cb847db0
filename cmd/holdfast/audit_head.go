package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var auditHeadView = view[holdfast.AuditHead]{
	{"ENTRY", func(h holdfast.AuditHead) string { return strconv.FormatInt(h.Sequence, 10) }},
	{"AT", func(h holdfast.AuditHead) string { return when(h.At) }},
	{"HASH", func(h holdfast.AuditHead) string { return h.Hash }},
	{"KEY", func(h holdfast.AuditHead) string { return h.KeyID }},
}

func newAuditHead(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "head",
		Short: "Show the end of the log, signed: with --json, to be kept elsewhere",
		Args:  arguments(),
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			head, err := api.GetAuditHeadWithResponse(ctx)
			if err != nil {
				return answer{}, err
			}
			return auditHeadView.one(*head.JSON200), nil
		}),
	}
}
