-- On the database that numbers go to, as its superuser: begins to copy their rows,
-- and to follow what changes.
CREATE SUBSCRIPTION holdfast_move CONNECTION :'source' PUBLICATION holdfast_move;
