/* sh_stores.h - the stores that a configuration may name, and the program that has them.
 *
 * tombola-shuffler has store "sqlite" alone and needs no libpq.  Where the configuration says "postgresql" it
 * becomes tombola-shuffler-postgresql, the same program with both. */
#pragma once

#include "cm_cli.h"
#include "sh_conf.h"
#include "sh_store.h"

struct sh_store_kind {
	const char *name;
	/* The functions of sh_sqlite.h, or of sh_postgresql.h. */
	enum cm_rc (*open)(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err);
	enum cm_rc (*open_readonly)(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err);
	enum cm_rc (*anew)(const struct sh_conf *conf, const struct sh_loss *loss, struct cm_err *err);
	/* A fault of the keys that only this store reads, and of which; NULL: none. */
	enum cm_rc (*check)(const struct sh_conf *conf, const char **key, struct cm_err *err);
};

extern const struct sh_store_kind sh_store_sqlite;
/* Of this program; ends with NULL. */
extern const struct sh_store_kind *const sh_stores[];

/* The verb `intake`: of the program that has store "postgresql"; the other one becomes it. */
enum cm_rc sh_intake_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* `check-config intake`: prints every finding, a line each; likewise. */
enum cm_rc sh_intake_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

/* The program's arguments, for another one in its place.  Call it first in main. */
void sh_stores_begin(char **argv);
/* Become the program that has every store.  CM_ECONFIG: it is not installed. */
CM_CHECK enum cm_rc sh_stores_become(struct cm_err *err);
/* The store that the configuration names.  When this program does not have it, the one that has it takes the
 * process's place, with the same arguments: call it before anything is locked, printed or confined.
 * CM_ECONFIG: it is not installed, or a fault of the store's keys, printed to stderr with its line. */
CM_CHECK enum cm_rc sh_stores_of(
	const struct sh_conf *conf, const struct sh_store_kind **out, struct cm_err *err);
