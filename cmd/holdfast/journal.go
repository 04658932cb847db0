package main

import "github.com/spf13/cobra"

func newJournal(r *remote) *cobra.Command {
	return r.noun("journal", "Verify worlds' journals", newJournalVerify(r), newJournalCheck(r))
}
