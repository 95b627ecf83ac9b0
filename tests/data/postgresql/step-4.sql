DROP FUNCTION tombola.standing_add(bytea, int8, bytea);
UPDATE tombola.meta SET version = 4;
