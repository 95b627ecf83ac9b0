CREATE TABLE tombola.place(here int8 NOT NULL, number int8 NOT NULL, id bytea NOT NULL, used int8 NOT NULL DEFAULT 0, name bytea, PRIMARY KEY(here, number));
INSERT INTO tombola.place(here, number, id) VALUES(1, 0, uuid_send(gen_random_uuid()));
UPDATE tombola.meta SET version = 3;
