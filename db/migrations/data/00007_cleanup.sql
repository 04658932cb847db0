-- What has had its time, and how the cleanup finds it: of all tenants, by number,
-- what is due longest first; identities, never contents.

-- +goose Up

-- A tombstone gives up its handle when its quarantine has ended, and nothing
-- else ever lacks one. devices_removed_at is when the last of a deleted account's
-- devices had gone: no approval links another to it.
ALTER TABLE accounts
    ALTER COLUMN handle DROP NOT NULL,
    ALTER COLUMN handle_key DROP NOT NULL,
    ALTER COLUMN handle_token DROP NOT NULL,
    ADD COLUMN devices_removed_at timestamptz,
    ADD CHECK ((handle IS NULL) = (status = 'deleted' AND quarantined_until IS NULL)),
    ADD CHECK ((handle IS NULL) = (handle_key IS NULL) AND (handle IS NULL) = (handle_token IS NULL)),
    ADD CHECK (handle IS NOT NULL OR skeleton_key IS NULL),
    ADD CHECK (devices_removed_at IS NULL OR status = 'deleted');

-- The cleanup's tasks have their progress beside the sweeps', and after_deadline
-- is behind whatever makes their finds due.
ALTER TABLE sweeps
    DROP CONSTRAINT sweeps_kind_check,
    ADD CHECK (kind IN ('operations', 'claims',
                        'lapsed_devices', 'revoked_devices', 'expired_codes',
                        'ended_quarantines', 'devices_of_deleted', 'tombstones', 'doubtful_links',
                        'expired_email_changes', 'old_code_guesses', 'old_events'));

-- All begin as claims_by_owner does, and all but the last two hold only rows that
-- wait for the cleanup.
CREATE INDEX devices_lapsing ON devices ((number::integer), expires_at, tenant_id, device_id)
    WHERE status <> 'revoked' AND redeemed_at IS NULL AND (approved_at IS NULL OR client_id IS NOT NULL);
CREATE INDEX devices_revoked ON devices ((number::integer), updated_at, tenant_id, device_id) WHERE status = 'revoked';
CREATE INDEX claims_by_expiry ON claims ((number::integer), expires_at, tenant_id, owner_id, token) WHERE expires_at IS NOT NULL;
CREATE INDEX accounts_quarantined ON accounts ((number::integer), quarantined_until, tenant_id, account_id)
    WHERE status = 'deleted' AND quarantined_until IS NOT NULL;
CREATE INDEX accounts_with_devices ON accounts ((number::integer), deleted_at, tenant_id, account_id)
    WHERE status = 'deleted' AND devices_removed_at IS NULL;
CREATE INDEX accounts_entombed ON accounts ((number::integer), deleted_at, tenant_id, account_id)
    WHERE status = 'deleted' AND quarantined_until IS NULL AND devices_removed_at IS NOT NULL;
CREATE INDEX account_devices_doubtful ON account_devices ((number::integer), created_at, tenant_id, account_id, device_id) WHERE NOT confirmed;
CREATE INDEX email_changes_by_expiry ON email_changes ((number::integer), expires_at, tenant_id, account_id);
CREATE INDEX code_guesses_by_end ON code_guesses ((number::integer), kept_until, tenant_id, subject);
-- Events have no index by time, since everybody waits for their writes. Theirs
-- are found by the counters of their streams, which are few and keep their keys.
-- The number is in it as itself too, so that the key's own index is never cheaper.
CREATE INDEX event_counters_by_number ON event_counters ((number::integer), tenant_id) INCLUDE (number);

CREATE POLICY scanner ON accounts FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON devices FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON account_devices FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON email_changes FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON code_guesses FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON event_counters FOR SELECT TO holdfast_scanner USING (true);
CREATE POLICY scanner ON events FOR SELECT TO holdfast_scanner USING (true);
GRANT SELECT (tenant_id, number, account_id, status, deleted_at, quarantined_until, devices_removed_at) ON accounts TO holdfast_scanner;
GRANT SELECT (tenant_id, number, device_id, status, client_id, expires_at, updated_at, approved_at, redeemed_at) ON devices TO holdfast_scanner;
GRANT SELECT ON account_devices TO holdfast_scanner;
GRANT SELECT (tenant_id, number, account_id, expires_at) ON email_changes TO holdfast_scanner;
GRANT SELECT (tenant_id, number, subject, kept_until) ON code_guesses TO holdfast_scanner;
GRANT SELECT (tenant_id, number) ON event_counters TO holdfast_scanner;
GRANT SELECT (tenant_id, number, sequence, at) ON events TO holdfast_scanner;
GRANT CREATE ON SCHEMA public TO holdfast_scanner;

-- All have the same form: a page of what was due at p_due, behind a place. Where
-- an identity doesn't fill record_id and token, the rest is zero.

-- Devices that nobody approved in time, or that nobody fetched in time: nothing
-- but their removal can happen to them any more.
-- +goose StatementBegin
CREATE FUNCTION cleanup_lapsed_devices(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT d.expires_at, d.tenant_id, d.device_id, uuid '00000000-0000-0000-0000-000000000000' FROM devices d
         WHERE d.number::integer = p_number::integer
           AND d.status <> 'revoked' AND d.redeemed_at IS NULL AND (d.approved_at IS NULL OR d.client_id IS NOT NULL)
           AND d.expires_at <= p_due
           AND (d.expires_at, d.tenant_id, d.device_id) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY d.expires_at, d.tenant_id, d.device_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cleanup_revoked_devices(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT d.updated_at, d.tenant_id, d.device_id, uuid '00000000-0000-0000-0000-000000000000' FROM devices d
         WHERE d.number::integer = p_number::integer AND d.status = 'revoked'
           AND d.updated_at <= p_due
           AND (d.updated_at, d.tenant_id, d.device_id) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY d.updated_at, d.tenant_id, d.device_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- Claims that end by themselves, by whose they are. The key is a code, and not
-- told.
-- +goose StatementBegin
CREATE FUNCTION cleanup_expired_codes(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT c.expires_at, c.tenant_id, c.owner_id, c.token FROM claims c
         WHERE c.number::integer = p_number::integer AND c.expires_at IS NOT NULL
           AND c.expires_at <= p_due
           AND (c.expires_at, c.tenant_id, c.owner_id, c.token) > (p_after_time, p_after_tenant, p_after_record, p_after_token)
         ORDER BY c.expires_at, c.tenant_id, c.owner_id, c.token
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cleanup_ended_quarantines(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT a.quarantined_until, a.tenant_id, a.account_id, uuid '00000000-0000-0000-0000-000000000000' FROM accounts a
         WHERE a.number::integer = p_number::integer AND a.status = 'deleted' AND a.quarantined_until IS NOT NULL
           AND a.quarantined_until <= p_due
           AND (a.quarantined_until, a.tenant_id, a.account_id) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY a.quarantined_until, a.tenant_id, a.account_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- The devices that deleted accounts still have links to; and a deleted account
-- without any once, with the zero device, so that it can be noted. (Not behind a
-- place among its devices: that would lead back before them.) Both limits bound
-- what is read; one account more, since the one at the place may have no more.
-- +goose StatementBegin
CREATE FUNCTION cleanup_devices_of_deleted(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT a.deleted_at, a.tenant_id, a.account_id, coalesce(l.device_id, uuid '00000000-0000-0000-0000-000000000000')
          FROM (SELECT a.deleted_at, a.tenant_id, a.number, a.account_id,
                       (a.deleted_at, a.tenant_id, a.account_id) > (p_after_time, p_after_tenant, p_after_record) AS is_behind FROM accounts a
                 WHERE a.number::integer = p_number::integer AND a.status = 'deleted' AND a.devices_removed_at IS NULL
                   AND a.deleted_at <= p_due
                   AND (a.deleted_at, a.tenant_id, a.account_id) >= (p_after_time, p_after_tenant, p_after_record)
                 ORDER BY a.deleted_at, a.tenant_id, a.account_id
                 LIMIT p_limit + 1) a
          LEFT JOIN LATERAL (SELECT l.device_id FROM account_devices l
                              WHERE l.tenant_id = a.tenant_id AND l.number = a.number AND l.account_id = a.account_id
                                AND l.device_id > CASE WHEN a.is_behind THEN uuid '00000000-0000-0000-0000-000000000000' ELSE p_after_token END
                              ORDER BY l.device_id
                              LIMIT p_limit) l ON true
         WHERE l.device_id IS NOT NULL OR a.is_behind
         ORDER BY a.deleted_at, a.tenant_id, a.account_id, l.device_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cleanup_tombstones(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT a.deleted_at, a.tenant_id, a.account_id, uuid '00000000-0000-0000-0000-000000000000' FROM accounts a
         WHERE a.number::integer = p_number::integer
           AND a.status = 'deleted' AND a.quarantined_until IS NULL AND a.devices_removed_at IS NOT NULL
           AND a.deleted_at <= p_due
           AND (a.deleted_at, a.tenant_id, a.account_id) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY a.deleted_at, a.tenant_id, a.account_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- Links of accounts to devices of which nobody knows whether they agree.
-- +goose StatementBegin
CREATE FUNCTION cleanup_doubtful_links(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT l.created_at, l.tenant_id, l.account_id, l.device_id FROM account_devices l
         WHERE l.number::integer = p_number::integer AND NOT l.confirmed
           AND l.created_at <= p_due
           AND (l.created_at, l.tenant_id, l.account_id, l.device_id) > (p_after_time, p_after_tenant, p_after_record, p_after_token)
         ORDER BY l.created_at, l.tenant_id, l.account_id, l.device_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cleanup_expired_email_changes(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT e.expires_at, e.tenant_id, e.account_id, uuid '00000000-0000-0000-0000-000000000000' FROM email_changes e
         WHERE e.number::integer = p_number::integer
           AND e.expires_at <= p_due
           AND (e.expires_at, e.tenant_id, e.account_id) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY e.expires_at, e.tenant_id, e.account_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION cleanup_old_code_guesses(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT g.kept_until, g.tenant_id, g.subject, uuid '00000000-0000-0000-0000-000000000000' FROM code_guesses g
         WHERE g.number::integer = p_number::integer
           AND g.kept_until <= p_due
           AND (g.kept_until, g.tenant_id, g.subject) > (p_after_time, p_after_tenant, p_after_record)
         ORDER BY g.kept_until, g.tenant_id, g.subject
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- A page of streams, whether they have old events or not: due_at is NULL where
-- the first that is left is younger, or there is none.
-- +goose StatementBegin
CREATE FUNCTION cleanup_old_events(
    p_number smallint, p_due timestamptz,
    p_after_time timestamptz, p_after_tenant uuid, p_after_record uuid, p_after_token uuid, p_limit integer
) RETURNS TABLE (due_at timestamptz, tenant_id uuid, record_id uuid, token uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    BEGIN ATOMIC
        SELECT CASE WHEN e.at <= p_due THEN e.at END, c.tenant_id,
               uuid '00000000-0000-0000-0000-000000000000', uuid '00000000-0000-0000-0000-000000000000' FROM event_counters c
          LEFT JOIN LATERAL (SELECT e.at FROM events e
                              WHERE e.tenant_id = c.tenant_id AND e.number = c.number
                              ORDER BY e.sequence LIMIT 1) e ON true
         WHERE c.number::integer = p_number::integer AND (c.number::integer, c.tenant_id) > (p_number::integer, p_after_tenant)
         ORDER BY c.number::integer, c.tenant_id
         LIMIT p_limit;
    END;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'cleanup\_%' LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO holdfast_scanner', v_function);
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_function);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO holdfast_worker', v_function);
    END LOOP;
END $$;
-- +goose StatementEnd
REVOKE CREATE ON SCHEMA public FROM holdfast_scanner;
