-- Where a tenant's new collections keep their bodies: 1 in SQL, 2 in the object
-- store. Collections that are there keep their own format.

-- +goose Up

ALTER TABLE tenants ADD COLUMN record_format smallint NOT NULL DEFAULT 1 CHECK (record_format IN (1, 2));
