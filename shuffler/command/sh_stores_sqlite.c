/* sh_stores_sqlite.c - describes the store in SQLite, which every program contains. */
#include "sh_sqlite.h"
#include "sh_stores.h"

static enum cm_rc open_store(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err)
{
	return sh_sqlite_open(conf->state_dir, out, err);
}

static enum cm_rc open_readonly(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err)
{
	return sh_sqlite_open_readonly(conf->state_dir, out, err);
}

static enum cm_rc anew(const struct sh_conf *conf, const struct sh_loss *loss, struct cm_err *err)
{
	return sh_sqlite_anew(conf->state_dir, loss, err);
}

const struct sh_store_kind sh_store_sqlite = {
	.name = "sqlite", .open = open_store, .open_readonly = open_readonly, .anew = anew
};
