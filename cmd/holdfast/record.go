package main

import "github.com/spf13/cobra"

func newRecord(r *remote) *cobra.Command {
	return r.noun("record", "Verify canonical records", newRecordCheck(r))
}
