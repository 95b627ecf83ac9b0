/* tool_pki.c - the pki verbs: issue, renew, show and revoke certificates. */
#include "tool_pki.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cm_buf.h"
#include "cm_clock.h"
#include "cm_file.h"

#define DEFAULT_WITHIN "30d"
#define WITHIN_MAX_MS  (CR_PKI_DAYS_CA * INT64_C(86400000))

enum cm_rc tool_pki_devices(const char *text, uint32_t *out, struct cm_err *err)
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
	enum cm_rc rc = tool_pki_devices(cli->option[TOOL_INIT_DEVICES], &devices, err);

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

enum cm_rc tool_pki_days(const char *text, int *out, struct cm_err *err)
{
	uint64_t n = CR_PKI_DAYS;

	if (text && cm_cli_u64(text, "days", 1, CR_PKI_DAYS_CA, &n, err) != CM_OK)
		return err->code;
	*out = (int)n;
	return CM_OK;
}

enum cm_rc tool_pki_role(const char *text, enum cr_role *out, struct cm_err *err)
{
	*out = !text ? CR_ROLE_NONE : cr_role_parse(text);
	return *out != CR_ROLE_NONE ? CM_OK
				    : cm_fail(err, CM_EUSAGE, "--role: client, shuffler, analyzer or intake");
}

static enum cm_rc parse_issue(
	const struct cm_cli *cli, enum cr_role *role, uint32_t *devices, int *days, struct cm_err *err)
{
	if (tool_pki_role(cli->option[TOOL_ISSUE_ROLE], role, err) != CM_OK)
		return err->code;
	if (tool_pki_devices(cli->option[TOOL_ISSUE_DEVICES], devices, err) != CM_OK)
		return err->code;
	return tool_pki_days(cli->option[TOOL_ISSUE_DAYS], days, err);
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

/* Makes "client-renewed.crt" from "client.crt"; malloc'd, NULL out of memory. */
static char *renewed_name(const char *cert)
{
	static const char end[] = ".crt";
	size_t n = strlen(cert), stem = n;
	char *out = malloc(n + sizeof "-renewed.crt");

	if (n >= sizeof end && strcmp(cert + n - (sizeof end - 1), end) == 0)
		stem = n - (sizeof end - 1);
	if (out)
		(void)sprintf(out, "%.*s-renewed%s", (int)stem, cert, end);
	return out;
}

enum cm_rc tool_pki_renew(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	const char *dir = cli->argv[1], *cert = cli->argv[2], *out = cli->option[TOOL_RENEW_OUT];
	char *beside = NULL;
	int days = 0;
	enum cm_rc rc = tool_pki_days(cli->option[TOOL_RENEW_DAYS], &days, err);

	(void)exit_code;
	if (rc == CM_OK && !out && !(out = beside = renewed_name(cert)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = cr_pki_renew(dir, cert, out, days, err);
	if (rc == CM_OK)
		printf("%s: for %d days and the same key; it goes in the place of %s, then SIGHUP\n", out,
			days, cert);
	free(beside);
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
		printf("%s: revoked%s; bring the new list to the parties that are not below %s, then SIGHUP "
		       "them\n",
			cli->argv[2], with, cli->argv[1]);
	return rc;
}
