-- What becomes of a data database's tables on Citus. Run it once as holdfast_owner,
-- with psql, behind "holdfast schema up"; for a table that a later migration adds,
-- run its line again. docs/citus.md says in which order and why.
--
-- A test reads this file: each table of the migrations stands here, one a line.

-- What row-level security calls on the nodes.
SELECT create_distributed_function('holdfast_tenant()');
SELECT create_distributed_function('holdfast_operator()');

-- What enter looks at: it goes with the tenant.
SELECT create_distributed_table('tenant_gates', 'tenant_id');

-- Identity.
SELECT create_distributed_table('accounts', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('email_changes', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('operations', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('claims', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('event_counters', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('events', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('devices', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('account_devices', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('code_guesses', 'tenant_id', colocate_with => 'tenant_gates');

-- Lease.
SELECT create_distributed_table('worlds', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('journal', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('entry_ids', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('lease_epochs', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('append_rejections', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('lease_waiters', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('checkpoints', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('world_heat', 'tenant_id', colocate_with => 'tenant_gates');

-- Record.
SELECT create_distributed_table('collections', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('records', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('sections_in_sql', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('section_chunks', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('sections_in_store', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('export_entries', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('receipts', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('fences', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('batches', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('batch_items', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('item_claims', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('snapshots', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('snapshot_parts', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('object_counts', 'tenant_id', colocate_with => 'tenant_gates');

-- Migration.
SELECT create_distributed_table('migration_checkpoints', 'tenant_id', colocate_with => 'tenant_gates');
SELECT create_distributed_table('migration_deferred', 'tenant_id', colocate_with => 'tenant_gates');

-- A tenant's end.
SELECT create_distributed_table('purge_counts', 'tenant_id', colocate_with => 'tenant_gates');

-- Of no tenant, small, and read and written on the coordinator only, where the
-- gates' locks are too: the state of the numbers, how far the sweeps are, and when
-- the database was restored.
-- local: number_gates
-- local: sweeps
-- local: lease_sweeps
-- local: record_sweeps
-- local: object_sweeps
-- local: restores
