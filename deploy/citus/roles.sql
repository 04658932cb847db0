-- The roles on Citus. Run it once in each data database as a superuser, behind the
-- first "holdfast schema up", which makes the roles. It may be repeated.

-- The tenant is set with SET LOCAL, which the nodes hear of only with this.
ALTER ROLE holdfast_owner SET citus.propagate_set_commands = 'local';
ALTER ROLE holdfast_api SET citus.propagate_set_commands = 'local';
ALTER ROLE holdfast_worker SET citus.propagate_set_commands = 'local';
ALTER ROLE holdfast_scanner SET citus.propagate_set_commands = 'local';

-- The scans of all tenants run as this role, and the coordinator connects to the
-- nodes as who runs a query. It has no password: let it in from the coordinator alone
-- (pg_hba.conf, or pg_dist_authinfo with a certificate).
ALTER ROLE holdfast_scanner LOGIN;
