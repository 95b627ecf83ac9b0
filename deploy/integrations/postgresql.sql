-- The table that postgresql-load.sh fills: the columns of `tombola-analyzer results export --format csv`, in any order.
CREATE TABLE IF NOT EXISTS tombola_result (
	id text NOT NULL, seq bigint NOT NULL, rows integer NOT NULL,
	population text NOT NULL, plan bigint NOT NULL, plan_name text, round integer NOT NULL,
	query text NOT NULL, recurrence integer NOT NULL, type text NOT NULL, protocol text NOT NULL, unit text NOT NULL,
	stage text NOT NULL, fault text,
	time timestamptz NOT NULL, time_ms bigint NOT NULL, settled_ms bigint NOT NULL,
	epsilon0 double precision, epsilon_round double precision, epsilon_total double precision, delta double precision,
	participants bigint NOT NULL, reports bigint NOT NULL, left_out bigint, left_out_why text,
	liars bigint, liars_seen bigint,
	no_reading boolean, label text, text text, low double precision, high double precision,
	value double precision, variance double precision, lower double precision, upper double precision,
	joint_lower double precision, joint_upper double precision, projected double precision,
	bias_bound double precision, below_noise boolean, at_end double precision,
	honest_lower double precision, honest_upper double precision,
	honest_joint_lower double precision, honest_joint_upper double precision, holds_to bigint,
	x double precision, y double precision, width double precision, height double precision
);
-- A table of earlier versions lacks these columns.
ALTER TABLE tombola_result
	ADD COLUMN IF NOT EXISTS left_out bigint, ADD COLUMN IF NOT EXISTS left_out_why text,
	ADD COLUMN IF NOT EXISTS at_end double precision,
	ADD COLUMN IF NOT EXISTS liars bigint, ADD COLUMN IF NOT EXISTS liars_seen bigint,
	ADD COLUMN IF NOT EXISTS honest_lower double precision, ADD COLUMN IF NOT EXISTS honest_upper double precision,
	ADD COLUMN IF NOT EXISTS honest_joint_lower double precision, ADD COLUMN IF NOT EXISTS honest_joint_upper double precision,
	ADD COLUMN IF NOT EXISTS holds_to bigint,
	ADD COLUMN IF NOT EXISTS x double precision, ADD COLUMN IF NOT EXISTS y double precision,
	ADD COLUMN IF NOT EXISTS width double precision, ADD COLUMN IF NOT EXISTS height double precision;
-- A round that is loaded twice at the same time fails as a whole.
CREATE UNIQUE INDEX IF NOT EXISTS tombola_result_once
	ON tombola_result (id, coalesce(no_reading, false), coalesce(label, ''));
CREATE INDEX IF NOT EXISTS tombola_result_query ON tombola_result (population, query, time);
