package main

import "github.com/spf13/cobra"

func newAudit(r *remote) *cobra.Command {
	return r.noun("audit", "Read the log of administrative acts, and verify it",
		newAuditShow(r), newAuditExport(r), newAuditHead(r), newAuditVerify(r))
}
