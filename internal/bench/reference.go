package bench

// The reference's table has what the promise needs and nothing else: an id, and
// two names that are unique because an index says so.
const (
	sqlDropReference = `DROP TABLE IF EXISTS bench_reference`
	sqlReference     = `
CREATE TABLE bench_reference (
    id uuid PRIMARY KEY,
    handle text COLLATE "C" NOT NULL UNIQUE,
    email text COLLATE "C" NOT NULL UNIQUE,
    display_name text,
    attributes json NOT NULL,
    created_at timestamptz NOT NULL
)`
	sqlFillReference = `
INSERT INTO bench_reference
SELECT gen_random_uuid(), 'reader-' || n, 'reader-' || n || '@example.com', 'A reader', '{}', now()
  FROM generate_series(0, $1) n`
	sqlReferenceIDs = `SELECT id::text FROM bench_reference LIMIT $1`
)

// pgbenchScript is a single-transaction insert with two unique indexes.
const pgbenchScript = `INSERT INTO bench_reference VALUES (gen_random_uuid(), 'h-' || gen_random_uuid(), gen_random_uuid() || '@example.com', 'A person', '{}', now());
`
