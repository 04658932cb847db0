-- On the database that numbers go to, as its superuser: ends the copying, and
-- removes its replication slot from the database that they leave.
DROP SUBSCRIPTION holdfast_move;
