-- A tenant's gate tells in which storage format its new collections begin, so
-- that a collection's creation reads it in its own transaction, which holds the
-- gate. It follows the tenant's control row, as the rest of the gate does.

-- +goose Up

ALTER TABLE tenant_gates ADD COLUMN record_format smallint NOT NULL DEFAULT 1 CHECK (record_format IN (1, 2));

-- Before the first tenant begins a collection at format 2 here, the least that a
-- process must know is raised to it.
GRANT UPDATE (record_format) ON number_gates TO holdfast_api;
