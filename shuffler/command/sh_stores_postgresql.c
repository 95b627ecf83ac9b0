/* sh_stores_postgresql.c - lists the stores of tombola-shuffler-postgresql. */
#include "sh_postgresql.h"
#include "sh_stores.h"

/* The strings belong to the configuration, which outlives the store. */
static struct sh_pg_conf conf_of(const struct sh_conf *conf)
{
	return (struct sh_pg_conf){ .database = conf->database,
		.further = conf->data_databases.item,
		.n_further = conf->data_databases.n,
		.standbys = (uint32_t)conf->standbys,
		.intake_role = conf->intake_role };
}

static enum cm_rc open_store(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err)
{
	const struct sh_pg_conf pg = conf_of(conf);

	return sh_postgresql_open(conf->state_dir, &pg, out, err);
}

static enum cm_rc open_readonly(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err)
{
	const struct sh_pg_conf pg = conf_of(conf);

	return sh_postgresql_open_readonly(conf->state_dir, &pg, out, err);
}

static enum cm_rc anew(const struct sh_conf *conf, const struct sh_loss *loss, struct cm_err *err)
{
	const struct sh_pg_conf pg = conf_of(conf);

	return sh_postgresql_anew(conf->state_dir, &pg, loss, err);
}

static enum cm_rc check(const struct sh_conf *conf, const char **key, struct cm_err *err)
{
	struct sh_pg_params params;

	*key = "database";
	enum cm_rc rc = sh_pg_params(conf->database, &params, err);
	for (size_t i = 0; rc == CM_OK && i < conf->data_databases.n; i++) {
		*key = "data_databases";
		if (sh_pg_params(conf->data_databases.item[i], &params, err) != CM_OK)
			rc = cm_context(err, "data_databases, number %zu", i + 1);
	}
	return rc;
}

static const struct sh_store_kind postgresql = {
	.name = "postgresql", .open = open_store, .open_readonly = open_readonly, .anew = anew, .check = check
};

const struct sh_store_kind *const sh_stores[] = { &sh_store_sqlite, &postgresql, NULL };
