/* tool_pki_sign.c - the verbs of enrolment by request: `pki request` where a key is, `pki sign` at the CA. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_file.h"
#include "cm_lock.h"
#include "tool_pki.h"

#define ENDING ".csr"

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc tool_pki_request(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *name = cli->argv[1], *out = cli->option[TOOL_REQUEST_OUT];
	enum cr_role role;
	enum cm_rc rc = tool_pki_role(cli->option[TOOL_REQUEST_ROLE], &role, err);

	(void)exit_code;
	if (!out)
		out = ".";
	if (rc == CM_OK)
		rc = cr_pki_request(out, name, role, err);
	if (rc == CM_OK)
		printf("%s/%s.key stays here; bring %s/%s.csr to the CA: tombola pki sign DIR %s.csr --role "
		       "%s\n",
			out, name, out, name, name, cr_role_name(role));
	return rc;
}

/* A run of signing. */
struct run {
	struct cr_pki_signer *signer;
	const char *dir, *out; /* out: NULL: beside each request */
	enum cr_role role;
	int days;
	const char *folder; /* whose requests are listed */
	char **path;        /* of its requests */
	size_t n, room;
	size_t signed_n, refused;
	FILE *said;       /* what was signed, to be printed when it is handed out */
	enum cm_rc first; /* of the refusals */
};

/* gw-1 of some/folder/gw-1.csr, malloc'd; NULL out of memory.  The name is the operator's: a file's name is
 * what it was saved under, and the request's own words are not asked. */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = !slash ? path : slash + 1;
	size_t n = strlen(base), ending = sizeof ENDING - 1;

	if (n > ending && strcmp(base + n - ending, ENDING) == 0)
		n -= ending;
	return strndup(base, n);
}

static enum cm_rc sign_to(
	struct run *r, const char *path, const char *name, const char *out, struct cm_err *err)
{
	enum cm_rc rc = cr_pki_signer_sign(r->signer, path, name, out, err);

	if (rc == CM_OK)
		(void)fprintf(
			r->said, "%s/%s.crt: %s for %d days\n", out, name, cr_role_name(r->role), r->days);
	return rc;
}

/* Signs one request; a refusal is said and counted. */
static void sign_one(struct run *r, const char *path)
{
	char *name = name_of(path), *beside = !r->out ? cm_file_folder(path) : NULL;
	const char *out = !r->out ? beside : r->out;
	struct cm_err err;
	enum cm_rc rc = !name || !out ? no_memory(&err) : sign_to(r, path, name, out, &err);

	if (rc == CM_OK) {
		r->signed_n++;
	} else {
		(void)fprintf(stderr, "tombola: %s\n", err.msg);
		if (r->refused++ == 0)
			r->first = rc;
	}
	free(name);
	free(beside);
}

static enum cm_rc on_entry(void *user, const char *name, struct cm_err *err)
{
	struct run *r = user;
	size_t n = strlen(name), ending = sizeof ENDING - 1;

	if (n <= ending || strcmp(name + n - ending, ENDING) != 0)
		return CM_OK;
	if (r->n == r->room) {
		size_t room = 2 * r->room + 16;
		char **more = realloc(r->path, room * sizeof *more);

		if (!more)
			return no_memory(err);
		r->path = more;
		r->room = room;
	}
	r->path[r->n] = cm_file_join(r->folder, name);
	if (!r->path[r->n])
		return no_memory(err);
	r->n++;
	return CM_OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The requests of a folder, in the order of their names. */
static enum cm_rc sign_folder(struct run *r, const char *folder, struct cm_err *err)
{
	enum cm_rc rc;

	r->folder = folder;
	r->n = 0;
	rc = cm_file_each(folder, on_entry, r, err);
	if (rc == CM_OK && r->n == 0)
		rc = cm_fail(err, CM_ENOINPUT, "%s: no *" ENDING " in it", folder);
	if (rc == CM_OK)
		qsort(r->path, r->n, sizeof *r->path, by_text);
	for (size_t i = 0; i < r->n; i++) {
		if (rc == CM_OK)
			sign_one(r, r->path[i]);
		free(r->path[i]);
	}
	return rc;
}

/* Two that sign at once would not see each other's keys. */
static enum cm_rc lock(const struct run *r, struct cm_err *err)
{
	char *ca_dir = cm_file_join(r->dir, r->role == CR_ROLE_CLIENT ? "ca-clients" : "ca-services");
	struct stat st;
	enum cm_rc rc = !ca_dir ? no_memory(err) : CM_OK;

	if (rc == CM_OK && stat(ca_dir, &st) != 0)
		rc = cm_fail(err, CM_ENOINPUT, "%s: no such folder", ca_dir);
	if (rc == CM_OK)
		rc = cm_lock_take(ca_dir, NULL, err);
	free(ca_dir);
	return rc;
}

static enum cm_rc open_run(const struct cm_cli *cli, struct run *r, struct cm_err *err)
{
	uint32_t devices = 1;
	enum cm_rc rc = tool_pki_role(cli->option[TOOL_SIGN_ROLE], &r->role, err);

	if (rc == CM_OK)
		rc = tool_pki_devices(cli->option[TOOL_SIGN_DEVICES], &devices, err);
	if (rc == CM_OK)
		rc = tool_pki_days(cli->option[TOOL_SIGN_DAYS], &r->days, err);
	if (rc == CM_OK)
		rc = lock(r, err);
	if (rc == CM_OK)
		rc = cr_pki_signer_new(
			r->dir, r->role, cli->option[TOOL_SIGN_HOSTS], devices, r->days, &r->signer, err);
	if (rc == CM_OK && r->out)
		rc = cm_file_mkdir(r->out, err);
	return rc;
}

/* Each argument of the command line: a request, or a folder of them. */
static enum cm_rc sign_all(const struct cm_cli *cli, struct run *r, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	struct stat st;

	for (int i = 2; rc == CM_OK && i < cli->argc; i++)
		if (stat(cli->argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			rc = sign_folder(r, cli->argv[i], err);
		else
			sign_one(r, cli->argv[i]);
	return rc;
}

/* The certificates, what their parties need beside them, and what is said of it. */
static enum cm_rc hand_out(struct run *r, const char *lines, struct cm_err *err)
{
	enum cm_rc rc = cr_pki_signer_hand_out(r->signer, err);

	if (rc == CM_OK && r->signed_n > 0 && r->out)
		rc = cr_pki_outfit(r->dir, r->out, r->role, err);
	if (rc == CM_OK)
		(void)fputs(lines, stdout);
	if (rc == CM_OK && r->signed_n + r->refused > 1)
		printf("%zu signed, %zu refused\n", r->signed_n, r->refused);
	return rc;
}

enum cm_rc tool_pki_sign(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct run r = { .dir = cli->argv[1], .out = cli->option[TOOL_SIGN_OUT] };
	char *lines = NULL;
	size_t size;
	enum cm_rc rc = open_run(cli, &r, err);

	if (rc == CM_OK && !(r.said = open_memstream(&lines, &size)))
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = sign_all(cli, &r, err);
	if (r.said && fclose(r.said) != 0 && rc == CM_OK)
		rc = no_memory(err);
	if (rc == CM_OK)
		rc = hand_out(&r, lines, err);
	if (rc == CM_OK && r.refused > 0)
		*exit_code = cm_exit_code(r.first);
	cr_pki_signer_free(r.signer);
	free(lines);
	free(r.path);
	return rc;
}
