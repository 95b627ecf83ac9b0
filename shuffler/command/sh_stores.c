/* sh_stores.c - finds the store that a configuration names, in this program or in another one. */
#include "sh_stores.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The path of the other program, relative to this program's folder. */
#define OTHER "../libexec/tombola/tombola-shuffler-postgresql"

static char **arguments;

void sh_stores_begin(char **argv)
{
	arguments = argv;
}

enum cm_rc sh_stores_become(struct cm_err *err)
{
	char path[4096 + sizeof OTHER];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof OTHER);

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0)
		return cm_fail(err, CM_EIO, "/proc/self/exe: %s", strerror(errno));
	memcpy(path + n, OTHER, sizeof OTHER);
	(void)execv(path, arguments);
	return cm_fail(err, CM_ECONFIG,
		"store = \"postgresql\" needs the package tombola-shuffler-postgresql: %s: %s", path,
		strerror(errno));
}

enum cm_rc sh_stores_of(const struct sh_conf *conf, const struct sh_store_kind **out, struct cm_err *err)
{
	struct cm_err why = { .code = CM_OK };
	const char *key = "";

	for (size_t i = 0; sh_stores[i]; i++)
		if (strcmp(conf->store, sh_stores[i]->name) == 0) {
			*out = sh_stores[i];
			err->code = CM_OK;
			if (sh_stores[i]->check && sh_stores[i]->check(conf, &key, &why) != CM_OK)
				cf_fault_at(conf->file, key, &why, stderr, err);
			return err->code;
		}
	return sh_stores_become(err);
}
