-- On the server that numbers leave, as its superuser: the role by which the other
-- database fetches them. It is a member of the owner, and is removed when the
-- numbers have moved.
CREATE ROLE holdfast_mover LOGIN REPLICATION PASSWORD :'password' IN ROLE holdfast_owner;
