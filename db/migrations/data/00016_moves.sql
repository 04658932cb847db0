-- Numbers that move to another database: which of two counts, which tables have their
-- rows, and who may read all of them.

-- +goose Up

-- A copy is closed to everybody, and may have the rows of another time: what counts
-- is the database that has the number open or closed, of which there is one. So a
-- number is a copy where it is to move to, until both have the same, and from then on
-- where it was.
ALTER TABLE number_gates DROP CONSTRAINT number_gates_state_check;
ALTER TABLE number_gates ADD CONSTRAINT number_gates_state_check CHECK (state IN ('open', 'closed', 'copy'));

-- The tables whose rows go where their number goes: those with the tenant and the
-- number in the primary key. The others are the gates, and the sweeps' places.
-- +goose StatementBegin
CREATE FUNCTION moving_tables() RETURNS SETOF regclass LANGUAGE sql STABLE
    BEGIN ATOMIC
        SELECT c.oid::regclass FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
           AND (SELECT count(*) FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND a.attname IN ('tenant_id', 'number')) = 2
         ORDER BY c.relname;
    END;
-- +goose StatementEnd

-- The owner, as the operator, sees the rows of all tenants, to compare them and to
-- remove what has moved. So does the role by which another database fetches them: it
-- is made for a move as a member of the owner, and replication gives it no way to say
-- that it comes as the operator.
-- +goose StatementBegin
DO $$
DECLARE
    v_table regclass;
BEGIN
    FOR v_table IN SELECT moving_tables() UNION ALL SELECT 'tenant_gates'::regclass LOOP
        EXECUTE format('CREATE POLICY mover ON %s TO holdfast_owner USING (holdfast_operator() OR current_user = %L)', v_table, 'holdfast_mover');
    END LOOP;
END $$;
-- +goose StatementEnd
