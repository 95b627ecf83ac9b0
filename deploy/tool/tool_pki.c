/* tool_pki.c - carries out the pki verbs: issues, renews, shows and revokes certificates, and signs
 * requests. */
#include "tool_pki.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "cm_buf.h"
#include "cm_clock.h"
#include "cm_file.h"
#include "cm_lock.h"

#define DEFAULT_WITHIN "30d"
#define CERT_ENDING    ".crt"
#define WITHIN_MAX_MS  (CR_PKI_DAYS_CA * INT64_C(86400000))

/* These three functions read an option that may be NULL: then there is 1 device, or CR_PKI_DAYS days; a
 * missing role is a fault. */
static enum cm_rc read_devices(const char *text, uint32_t *out, struct cm_err *err)
{
	uint64_t n = 1;

	if (text && cm_cli_u64(text, "devices", 1, CR_PKI_MAX_DEVICES, &n, err) != CM_OK)
		return err->code;
	*out = (uint32_t)n;
	return CM_OK;
}

/* Prints one line for a CA, which operators compare by voice or on paper. */
static enum cm_rc print_ca(const char *dir, const char *ca, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, ca), *path = !ca_dir ? NULL : cm_file_join(ca_dir, "ca.crt");
	struct cr_pki_info info;
	enum cm_rc rc = !path ? cm_fail(err, CM_EINTERNAL, "out of memory") : cr_pki_show(path, &info, err);

	if (rc == CM_OK)
		printf("%s: SHA-256 %s\n", ca, info.sha256);
	free(ca_dir);
	free(path);
	return rc;
}

enum cm_rc tool_pki_init(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *dir = cli->argv[1];
	uint32_t devices = 1;
	enum cm_rc rc = read_devices(cli->option[TOOL_INIT_DEVICES], &devices, err);

	(void)exit_code;
	if (rc == CM_OK)
		rc = cr_pki_init(dir, cli->option[TOOL_INIT_HOSTS], devices, err);
	if (rc == CM_OK)
		rc = print_ca(dir, "ca-clients", err);
	if (rc == CM_OK)
		rc = print_ca(dir, "ca-services", err);
	if (rc == CM_OK)
		printf("client, shuffler, analyzer: certificates for %u days\n", CR_PKI_DAYS);
	return rc;
}

static enum cm_rc read_days(const char *text, int *out, struct cm_err *err)
{
	uint64_t n = CR_PKI_DAYS;

	if (text && cm_cli_u64(text, "days", 1, CR_PKI_DAYS_CA, &n, err) != CM_OK)
		return err->code;
	*out = (int)n;
	return CM_OK;
}

static enum cm_rc read_role(const char *text, enum cr_role *out, struct cm_err *err)
{
	*out = !text ? CR_ROLE_NONE : cr_role_parse(text);
	return *out != CR_ROLE_NONE ? CM_OK
				    : cm_fail(err, CM_EUSAGE, "--role: client, shuffler, analyzer or intake");
}

static enum cm_rc parse_issue(
	const struct cm_cli *cli, enum cr_role *role, uint32_t *devices, int *days, struct cm_err *err)
{
	if (read_role(cli->option[TOOL_ISSUE_ROLE], role, err) != CM_OK)
		return err->code;
	if (read_devices(cli->option[TOOL_ISSUE_DEVICES], devices, err) != CM_OK)
		return err->code;
	return read_days(cli->option[TOOL_ISSUE_DAYS], days, err);
}

enum cm_rc tool_pki_issue(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *dir = cli->argv[1], *name = cli->argv[2];
	char *out = NULL;
	enum cr_role role;
	uint32_t devices = 1;
	enum cm_rc rc;
	int days = 0;

	(void)exit_code;
	rc = parse_issue(cli, &role, &devices, &days, err);
	if (rc != CM_OK)
		return rc;
	out = !cli->option[TOOL_ISSUE_OUT] ? cm_file_join(dir, name) : strdup(cli->option[TOOL_ISSUE_OUT]);
	if (!out)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cr_pki_issue(dir, out, name, role, cli->option[TOOL_ISSUE_HOSTS], devices, days, err);
	if (rc == CM_OK)
		rc = cr_pki_outfit(dir, out, role, err);
	if (rc == CM_OK)
		printf("%s/%s.crt: %s for %d days\n", out, name, cr_role_name(role), days);
	free(out);
	return rc;
}

/* ---- the files of a folder ---- */

/* The files of a folder whose names have this ending, in the order of their names. */
struct listing {
	const char *folder, *ending;
	char **path;
	size_t n, room;
};

static enum cm_rc on_entry(void *user, const char *name, struct cm_err *err)
{
	struct listing *l = user;
	size_t n = strlen(name), ending = strlen(l->ending);

	if (n <= ending || strcmp(name + n - ending, l->ending) != 0)
		return CM_OK;
	if (l->n == l->room) {
		size_t room = 2 * l->room + 16;
		char **more = realloc(l->path, room * sizeof *more);

		if (!more)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		l->path = more;
		l->room = room;
	}
	l->path[l->n] = cm_file_join(l->folder, name);
	if (!l->path[l->n])
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	l->n++;
	return CM_OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* CM_ENOINPUT: there is no such file. */
static enum cm_rc list(struct listing *l, struct cm_err *err)
{
	enum cm_rc rc = cm_file_each(l->folder, on_entry, l, err);

	if (rc == CM_OK && l->n == 0)
		rc = cm_fail(err, CM_ENOINPUT, "%s: no *%s in it", l->folder, l->ending);
	if (rc == CM_OK)
		qsort(l->path, l->n, sizeof *l->path, by_text);
	return rc;
}

static void listing_fini(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->path[i]);
	free(l->path);
}

/* Makes "client-renewed.crt" from "client.crt"; malloc'd, NULL out of memory. */
static char *renewed_name(const char *cert)
{
	static const char end[] = CERT_ENDING;
	size_t n = strlen(cert), stem = n;
	char *out = malloc(n + sizeof "-renewed" CERT_ENDING);

	if (n >= sizeof end && strcmp(cert + n - (sizeof end - 1), end) == 0)
		stem = n - (sizeof end - 1);
	if (out)
		(void)sprintf(out, "%.*s-renewed%s", (int)stem, cert, end);
	return out;
}

/* ---- renewal ---- */

/* A renewal of one or more certificates. */
struct renewal {
	/* out: where to write, a file or with `many` a folder; NULL: beside each certificate */
	const char *dir, *out;
	uint32_t devices; /* 0: the number that each certificate has */
	int days;
	bool many; /* a folder, or several certificates, were named */
	size_t renewed, refused;
	enum cm_rc first; /* exit code of the first refusal */
};

static char *renewed_path(const struct renewal *r, const char *cert)
{
	const char *slash = strrchr(cert, '/');

	return !r->out    ? renewed_name(cert)
	       : !r->many ? strdup(r->out)
			  : cm_file_join(r->out, !slash ? cert : slash + 1);
}

/* Renews one certificate; a refusal is reported and counted. */
static void renew_one(struct renewal *r, const char *cert)
{
	char *out = renewed_path(r, cert), devices[32] = "";
	struct cm_err err;
	enum cm_rc rc = !out ? cm_fail(&err, CM_EINTERNAL, "out of memory")
			     : cr_pki_renew(r->dir, cert, out, r->devices, r->days, &err);

	if (rc == CM_OK) {
		r->renewed++;
		if (r->devices != 0)
			(void)snprintf(devices, sizeof devices, ", %u devices", (unsigned)r->devices);
		printf("%s: for %d days and the same key%s; put it in the place of %s, and a daemon takes it up\n",
			out, r->days, devices, cert);
	} else {
		(void)fprintf(stderr, "tombola: %s\n", err.msg);
		if (r->refused++ == 0)
			r->first = rc;
	}
	free(out);
}

/* Whether a file of a folder is to be renewed: a file that was renewed just now is not, nor is the
 * certificate of a CA beside a party's own.  A file that cannot be read is, so that its fault is
 * reported. */
static bool is_partys(const char *path)
{
	static const char renewed[] = "-renewed" CERT_ENDING;
	size_t n = strlen(path);
	struct cr_pki_info info;
	struct cm_err err;

	return (n < sizeof renewed || strcmp(path + n - (sizeof renewed - 1), renewed) != 0) &&
	       (cr_pki_show(path, &info, &err) != CM_OK || !info.is_ca);
}

static enum cm_rc renew_folder(struct renewal *r, const char *folder, struct cm_err *err)
{
	struct listing l = { .folder = folder, .ending = CERT_ENDING };
	enum cm_rc rc = list(&l, err);

	for (size_t i = 0; rc == CM_OK && i < l.n; i++)
		if (is_partys(l.path[i]))
			renew_one(r, l.path[i]);
	listing_fini(&l);
	return rc;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum cm_rc parse_renewal(const struct cm_cli *cli, struct renewal *r, struct cm_err *err)
{
	const char *devices = cli->option[TOOL_RENEW_DEVICES];

	*r = (struct renewal){ .dir = cli->argv[1],
		.out = cli->option[TOOL_RENEW_OUT],
		.many = cli->argc > 3 || is_folder(cli->argv[2]) };
	if (devices && read_devices(devices, &r->devices, err) != CM_OK)
		return err->code;
	if (read_days(cli->option[TOOL_RENEW_DAYS], &r->days, err) != CM_OK)
		return err->code;
	return r->many && r->out ? cm_file_mkdir(r->out, err) : CM_OK;
}

enum cm_rc tool_pki_renew(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct renewal r;
	enum cm_rc rc = parse_renewal(cli, &r, err);

	for (int i = 2; rc == CM_OK && i < cli->argc; i++)
		if (is_folder(cli->argv[i]))
			rc = renew_folder(&r, cli->argv[i], err);
		else
			renew_one(&r, cli->argv[i]);
	if (rc == CM_OK && r.renewed + r.refused > 1)
		printf("%zu renewed, %zu refused\n", r.renewed, r.refused);
	if (rc == CM_OK && r.refused > 0)
		*exit_code = cm_exit_code(r.first);
	return rc;
}

static enum cm_rc print_json(const struct cr_pki_info *info, const char *key_hash, struct cm_err *err)
{
	json_t *doc = json_pack("{s:s s:b s:s s:s s:i s:s s:s s:s s:s s:s s:I s:I}", "schema",
		"tombola.certificate/1", "ca", (int)info->is_ca, "role", cr_role_name(info->identity.role),
		"name", info->identity.name, "devices", (int)info->identity.devices, "hosts", info->hosts,
		"subject", info->subject, "issuer", info->issuer, "sha256", info->sha256, "key_sha256",
		key_hash, "not_before", (json_int_t)info->not_before, "not_after",
		(json_int_t)info->not_after);
	int failed = !doc || json_dumpf(doc, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;

	json_decref(doc);
	/* A subject that is not UTF-8 has no JSON form. */
	return failed ? cm_fail(err, CM_EDATA, "the certificate's names cannot be written as JSON") : CM_OK;
}

static void print_text(const struct cr_pki_info *info, const char *key_hash)
{
	char from[32], to[32];

	cm_clock_text(info->not_before * 1000, from);
	cm_clock_text(info->not_after * 1000, to);
	printf("subject     %s\nissuer      %s\n", info->subject, info->issuer);
	printf("role        %s\n", info->is_ca ? "CA" : cr_role_name(info->identity.role));
	if (info->identity.role == CR_ROLE_CLIENT)
		printf("devices     %u\n", (unsigned)info->identity.devices);
	if (info->hosts[0] != '\0')
		printf("hosts       %s\n", info->hosts);
	printf("not before  %s\nnot after   %s\n", from, to);
	printf("SHA-256     %s\nkey         %s\n", info->sha256, key_hash);
}

enum cm_rc tool_pki_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cr_pki_info info;
	char key_hash[2 * sizeof info.identity.key_hash + 1];
	enum cm_rc rc = cr_pki_show(cli->argv[1], &info, err);

	(void)exit_code;
	if (rc != CM_OK)
		return rc;
	cm_hex(info.identity.key_hash, sizeof info.identity.key_hash, key_hash);
	if (cli->json)
		return print_json(&info, key_hash, err);
	print_text(&info, key_hash);
	return CM_OK;
}

enum cm_rc tool_pki_needs_renewal(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *within_text = cli->option[TOOL_RENEWAL_WITHIN];
	struct cr_pki_info info;
	int64_t within = 0, left;
	enum cm_rc rc;

	if (!within_text)
		within_text = DEFAULT_WITHIN;
	if (!cm_clock_duration(within_text, &within) || within > WITHIN_MAX_MS)
		return cm_fail(err, CM_EUSAGE,
			"--within: '%.40s' is not a time like 30d, 12h, 90m or 45s, at most %u days",
			within_text, CR_PKI_DAYS_CA);
	rc = cr_pki_show(cli->argv[1], &info, err);
	if (rc == CM_ENOINPUT) {
		(void)fprintf(stderr, "tombola: %s\n", err->msg);
		*exit_code = 2;
		return CM_OK;
	}
	if (rc != CM_OK)
		return rc;
	left = info.not_after - cm_clock_wall_ms() / 1000;
	*exit_code = left < within / 1000 ? 0 : 1;
	if (cli->json)
		printf("{\"schema\":\"tombola.renewal/"
		       "1\",\"renew\":%s,\"not_after\":%lld,\"days_left\":%lld}\n",
			*exit_code == 0 ? "true" : "false", (long long)info.not_after,
			(long long)(left / 86400));
	else if (left < 0)
		printf("%s: expired %lld days ago: renew\n", cli->argv[1], (long long)(-left / 86400));
	else
		printf("%s: %lld days left: %s\n", cli->argv[1], (long long)(left / 86400),
			*exit_code == 0 ? "renew" : "no need");
	return CM_OK;
}

enum cm_rc tool_pki_revoke(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	size_t others = 0;
	enum cm_rc rc = cr_pki_revoke(cli->argv[1], cli->argv[2], &others, err);
	char with[64] = "";

	(void)exit_code;
	if (others > 0)
		(void)snprintf(
			with, sizeof with, ", with %zu other%s of its key", others, others > 1 ? "s" : "");
	if (rc == CM_OK)
		printf("%s: revoked%s; bring the new list to the parties that are not below %s: a daemon takes "
		       "it up\n",
			cli->argv[2], with, cli->argv[1]);
	return rc;
}

/* ---- enrolment by request: `pki request` where a key is, `pki sign` at the CA ---- */

#define ENDING ".csr"

enum cm_rc tool_pki_request(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *name = cli->argv[1], *out = cli->option[TOOL_REQUEST_OUT];
	enum cr_role role;
	enum cm_rc rc = read_role(cli->option[TOOL_REQUEST_ROLE], &role, err);

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

/* Signing one or more requests. */
struct run {
	struct cr_pki_signer *signer;
	const char *dir, *out; /* out: where to write; NULL: beside each request */
	enum cr_role role;
	int days;
	size_t signed_n, refused;
	/* lines about what was signed, which are printed when the certificates are handed out */
	FILE *said;
	enum cm_rc first; /* exit code of the first refusal */
};

/* Makes gw-1 from some/folder/gw-1.csr; malloc'd, NULL out of memory.  The operator decides the name by the
 * file's name; the name that the request contains is ignored. */
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

/* Signs one request; a refusal is reported and counted. */
static void sign_one(struct run *r, const char *path)
{
	char *name = name_of(path), *beside = !r->out ? cm_file_folder(path) : NULL;
	const char *out = !r->out ? beside : r->out;
	struct cm_err err;
	enum cm_rc rc = !name || !out ? cm_fail(&err, CM_EINTERNAL, "out of memory")
				      : sign_to(r, path, name, out, &err);

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

/* Signs the requests of a folder, in the order of their names. */
static enum cm_rc sign_folder(struct run *r, const char *folder, struct cm_err *err)
{
	struct listing l = { .folder = folder, .ending = ENDING };
	enum cm_rc rc = list(&l, err);

	for (size_t i = 0; rc == CM_OK && i < l.n; i++)
		sign_one(r, l.path[i]);
	listing_fini(&l);
	return rc;
}

/* Two runs that sign at the same time would not see each other's keys. */
static enum cm_rc lock(const struct run *r, struct cm_err *err)
{
	char *ca_dir = cm_file_join(r->dir, r->role == CR_ROLE_CLIENT ? "ca-clients" : "ca-services");
	struct stat st;
	enum cm_rc rc = !ca_dir ? cm_fail(err, CM_EINTERNAL, "out of memory") : CM_OK;

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
	enum cm_rc rc = read_role(cli->option[TOOL_SIGN_ROLE], &r->role, err);

	if (rc == CM_OK)
		rc = read_devices(cli->option[TOOL_SIGN_DEVICES], &devices, err);
	if (rc == CM_OK)
		rc = read_days(cli->option[TOOL_SIGN_DAYS], &r->days, err);
	if (rc == CM_OK)
		rc = lock(r, err);
	if (rc == CM_OK)
		rc = cr_pki_signer_new(
			r->dir, r->role, cli->option[TOOL_SIGN_HOSTS], devices, r->days, &r->signer, err);
	if (rc == CM_OK && r->out)
		rc = cm_file_mkdir(r->out, err);
	return rc;
}

/* Signs each argument of the command line: a request, or a folder of requests. */
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

/* Writes the certificates and the files that their parties need beside them, and prints the lines about
 * them. */
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
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = sign_all(cli, &r, err);
	if (r.said && fclose(r.said) != 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = hand_out(&r, lines, err);
	if (rc == CM_OK && r.refused > 0)
		*exit_code = cm_exit_code(r.first);
	cr_pki_signer_free(r.signer);
	free(lines);
	return rc;
}
