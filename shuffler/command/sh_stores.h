/* sh_stores.h - the stores that a configuration may name, and the program that contains them.
 *
 * tombola-shuffler contains only the store "sqlite" and needs no libpq.  If the configuration says
 * "postgresql", it executes tombola-shuffler-postgresql, which is the same program with both stores. */
#pragma once

#include "cm_cli.h"
#include "sh_conf.h"
#include "sh_store.h"

struct sh_store_kind {
	const char *name;
	/* The open function of sh_sqlite.h or of sh_postgresql.h. */
	enum cm_rc (*open)(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err);
	enum cm_rc (*open_readonly)(const struct sh_conf *conf, struct sh_store *out, struct cm_err *err);
	enum cm_rc (*anew)(const struct sh_conf *conf, const struct sh_loss *loss, struct cm_err *err);
	/* Checks the keys that only this store reads.  *key names the faulty one.  NULL: the store has no
	 * such keys. */
	enum cm_rc (*check)(const struct sh_conf *conf, const char **key, struct cm_err *err);
};

extern const struct sh_store_kind sh_store_sqlite;
/* The stores that this program contains; ends with NULL. */
extern const struct sh_store_kind *const sh_stores[];

/* The verb `intake`.  Only the program with the store "postgresql" can run it; the other program executes
 * that one. */
enum cm_rc sh_intake_run(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* The verb `check-config intake`, for which the same holds.  It prints every finding on a line of its
 * own. */
enum cm_rc sh_intake_check(const struct cm_cli *cli, int *exit_code, struct cm_err *err);

/* Remember the program's arguments, to execute another program with them.  Call it first in main. */
void sh_stores_begin(char **argv);
/* Execute the program that contains every store.  CM_ECONFIG: it is not installed. */
CM_CHECK enum cm_rc sh_stores_become(struct cm_err *err);
/* Find the store that the configuration names.  If this program does not contain it, execute the one that
 * does, with the same arguments.  So call it before anything is locked, printed or confined.  CM_ECONFIG:
 * that program is not installed, or the store's keys have a fault, which is printed to stderr with its
 * line. */
CM_CHECK enum cm_rc sh_stores_of(
	const struct sh_conf *conf, const struct sh_store_kind **out, struct cm_err *err);
