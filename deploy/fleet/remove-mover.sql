-- On the server that numbers have left, as its superuser.
DROP ROLE holdfast_mover;
