package jobs

// kinds are all kinds of jobs, for what is told of each of them.
func kinds() []string {
	return []string{
		IdentitySweep{}.Kind(), IdentityCleanup{}.Kind(),
		LeaseSweep{}.Kind(), LeaseCheckpoint{}.Kind(), LeaseHeat{}.Kind(),
		RecordSnapshot{}.Kind(), RecordCleanup{}.Kind(), RecordObjects{}.Kind(),
		MigrationRun{}.Kind(), MigrationScrub{}.Kind(), MigrationWatch{}.Kind(),
		AuditCut{}.Kind(), TenantPurge{}.Kind(), StockCount{}.Kind(),
	}
}
