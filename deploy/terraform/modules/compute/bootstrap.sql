-- What the bootstrap task runs, as the server's master. \getenv takes the password from
-- the environment, so that it stands in no argument, and \gexec makes only what isn't
-- there. Membership in the owner's role is what PostgreSQL asks of whoever gives it a
-- database.
\getenv password OWNER_PASSWORD
SELECT 'CREATE ROLE holdfast_owner' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'holdfast_owner') \gexec
ALTER ROLE holdfast_owner LOGIN CREATEROLE PASSWORD :'password';
GRANT holdfast_owner TO CURRENT_USER;
SELECT 'CREATE DATABASE holdfast OWNER holdfast_owner' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'holdfast') \gexec
