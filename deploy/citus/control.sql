-- What becomes of the control database's tables on Citus: nothing. They stay plain
-- tables of the coordinator, or of a PostgreSQL of their own, and the extension isn't
-- needed in a control database that has no data tables beside them. So there is
-- nothing to run here.
--
-- A test reads this file: each table of the migrations stands here, one a line.

-- Who the tenants are, who may call, and what is revoked. Looked up by key, client or
-- name before a tenant is known, which on a distributed table would ask every node.
-- local: installation
-- local: tenants
-- local: principals
-- local: api_keys
-- local: clients
-- local: issuers
-- local: signing_keys
-- local: checkpoint_keys
-- local: revocation_counter
-- local: revocations

-- What tenants may have and have, and how they end: a row or a few for each.
-- local: tenant_limits
-- local: tenant_usage
-- local: tenant_deletions
-- local: tenant_purges

-- What operators did: one chain, whose head is locked.
-- local: audit_log

-- Who is alive, what is due, and what of a tenant is moved.
-- local: deployments
-- local: schedules
-- local: qualifications
-- local: migrations
-- local: migration_plans
-- local: migration_envelopes
-- local: migration_approvals
-- local: migration_transitions
-- local: migration_runs
-- local: migration_samples
-- local: migration_reports

-- River's, which knows nothing of Citus. No domain write shares a transaction with them.
-- local: river_job
-- local: river_leader
-- local: river_migration
-- local: river_notification
-- local: river_queue
