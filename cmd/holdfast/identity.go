package main

import "github.com/spf13/cobra"

func newIdentity(r *remote) *cobra.Command {
	return r.noun("identity", "Import, verify, open, check and sweep tenants' directories",
		newIdentityImport(r), newIdentityReport(r), newIdentityOpen(r), newIdentityCheck(r), newIdentitySweep(r))
}
