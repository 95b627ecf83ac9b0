/* main.c - the command `tombola`: a table of verbs that belong to no one party. */
#include <stdio.h>

#include <openssl/crypto.h>

#include "cm_inherited.h"
#include "cr_libcrypto.h"
#include "tool_demo.h"
#include "tool_evidence.h"
#include "tool_pki.h"
#include "tool_plan.h"
#include "tool_protocols.h"

static enum cm_rc version(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	(void)err;
	if (cli->json)
		printf("{\"schema\":\"tombola.version/1\",\"version\":\"%s\",\"openssl\":\"%s\"}\n",
			TOMBOLA_VERSION, OpenSSL_version(OPENSSL_VERSION_STRING));
	else
		printf("tombola %s, OpenSSL %s\n", TOMBOLA_VERSION, OpenSSL_version(OPENSSL_VERSION_STRING));
	return CM_OK;
}

static const struct cm_cli_verb verbs[] = {
	{ .name = "demo",
		.args = "",
		.help = "run a plan through the three daemons on loopback, in a folder of its own",
		.option = { [TOOL_DEMO_PLAN] = { "plan", "FILE",
				    "run this plan (default: an example with a round that exceeds the "
				    "budget)",
				    false },
			[TOOL_DEMO_READINGS] = { "readings", "FILE",
				"CSV or NDJSON (default: generated, for as many devices as the plan needs)",
				false },
			[TOOL_DEMO_DEVICE_FIELD] = { "device-field", "NAME",
				"field with the name of a reading's device (default: each row is a device)",
				false },
			[TOOL_DEMO_DEVICES] = { "devices", "N", "generate readings of N devices", false },
			[TOOL_DEMO_DIR] = { "dir", "DIR",
				"create DIR and keep all files there (default: a temporary folder)", false },
			[TOOL_DEMO_PORT] = { "port", "P", "port of the shuffler (default: a free one)",
				false },
			[TOOL_DEMO_CLIENT_DIALS] = { "client-dials", "HOST:PORT",
				"address that the client dials, for a proxy in front of the shuffler",
				false },
			[TOOL_DEMO_TIMEOUT] = { "timeout", "TIME",
				"stop after this time, like 90s (default 10m)", false },
			[TOOL_DEMO_SEED] = { "seed", "N", "seed of the random numbers, for test builds only",
				false } },
		.run = tool_demo },
	{ .name = "evidence verify",
		.args = "FILE [FILE]",
		.help = "check what a client keeps against its shuffler, without a network; exit 0: it "
			"proves misconduct, 65: it proves nothing, 77: that key did not sign it",
		.min_args = 1,
		.max_args = 2,
		.option = { [TOOL_EVIDENCE_KEY] = { "shuffler-key", "FILE",
				    "required: the shuffler's public signing key", false } },
		.run = tool_evidence_verify },
	{ .name = "pki init",
		.args = "DIR",
		.help = "make the two CAs, and a folder of keys for each of client, shuffler and analyzer",
		.min_args = 1,
		.max_args = 1,
		.option = { [TOOL_INIT_HOSTS] = { "hosts", "H,H..",
				    "names and addresses of the shuffler (default localhost,127.0.0.1,::1)",
				    false },
			[TOOL_INIT_DEVICES] = { "devices", "N", "devices the client speaks for (default 1)",
				false } },
		.run = tool_pki_init },
	{ .name = "pki issue",
		.args = "DIR NAME",
		.help = "issue NAME.crt and NAME.key, with the public files a party of that role needs",
		.min_args = 2,
		.max_args = 2,
		.option = { [TOOL_ISSUE_ROLE] = { "role", "ROLE", "client, shuffler, analyzer or intake",
				    false },
			[TOOL_ISSUE_HOSTS] = { "hosts", "H,H..", "names and addresses of a shuffler", false },
			[TOOL_ISSUE_DEVICES] = { "devices", "N", "devices a client speaks for (default 1)",
				false },
			[TOOL_ISSUE_DAYS] = { "days", "D", "life of the certificate (default 90)", false },
			[TOOL_ISSUE_OUT] = { "out", "DIR", "where to write (default DIR/NAME)", false } },
		.run = tool_pki_issue },
	{ .name = "pki request",
		.args = "NAME",
		.help = "make the key NAME.key where it stays, and NAME.csr, the request for its certificate",
		.min_args = 1,
		.max_args = 1,
		.option = { [TOOL_REQUEST_ROLE] = { "role", "ROLE", "client, shuffler, analyzer or intake",
				    false },
			[TOOL_REQUEST_OUT] = { "out", "DIR", "where to write (default .)", false } },
		.run = tool_pki_request },
	{ .name = "pki sign",
		.args = "DIR REQUEST..",
		.help = "issue the certificates of requests, or of all *.csr in a folder",
		.min_args = 2,
		.max_args = TOOL_SIGN_MAX,
		.option = { [TOOL_SIGN_ROLE] = { "role", "ROLE", "client, shuffler, analyzer or intake",
				    false },
			[TOOL_SIGN_HOSTS] = { "hosts", "H,H..", "names and addresses of a shuffler", false },
			[TOOL_SIGN_DEVICES] = { "devices", "N", "devices each client speaks for (default 1)",
				false },
			[TOOL_SIGN_DAYS] = { "days", "D", "life of the certificates (default 90)", false },
			[TOOL_SIGN_OUT] = { "out", "DIR", "where to write (default: beside each request)",
				false } },
		.run = tool_pki_sign },
	{ .name = "pki renew",
		.args = "DIR CERT",
		.help = "issue a party's certificate again, for the same key",
		.min_args = 2,
		.max_args = 2,
		.option = { [TOOL_RENEW_DAYS] = { "days", "D", "life of the certificate (default 90)",
				    false },
			[TOOL_RENEW_OUT] = { "out", "FILE",
				"new file to write (default: beside CERT, its name with -renewed)", false } },
		.run = tool_pki_renew },
	{ .name = "pki show",
		.args = "FILE",
		.help = "print the contents of a certificate",
		.min_args = 1,
		.max_args = 1,
		.run = tool_pki_show },
	{ .name = "pki needs-renewal",
		.args = "FILE",
		.help = "check whether a certificate must be renewed; exit 0 yes, 1 not yet, 2 no such file",
		.min_args = 1,
		.max_args = 1,
		.option = { [TOOL_RENEWAL_WITHIN] = { "within", "TIME",
				    "renew when less is left, like 12h or 30d (default 30d)", false } },
		.run = tool_pki_needs_renewal },
	{ .name = "pki revoke",
		.args = "DIR CERT",
		.help = "put a certificate on its CA's revocation list and refresh the parties' copies",
		.min_args = 2,
		.max_args = 2,
		.run = tool_pki_revoke },
	{ .name = "plan check",
		.args = "FILE",
		.help = "print the faults of a plan as file:line: text; those of keys and types before all others",
		.min_args = 1,
		.max_args = 1,
		.run = tool_plan_check },
	{ .name = "plan digest",
		.args = "FILE",
		.help = "print the SHA-256 that identifies a plan",
		.min_args = 1,
		.max_args = 1,
		.run = tool_plan_digest },
	{ .name = "plan cost",
		.args = "FILE",
		.help = "show what each round would spend, and which would be refused",
		.min_args = 1,
		.max_args = 1,
		.run = tool_plan_cost },
	{ .name = "plan optimise",
		.args = "FILE",
		.help = "print the plan with each epsilon0 = \"error 50\" or \"weight 2\" replaced by a number",
		.min_args = 1,
		.max_args = 1,
		.run = tool_plan_optimise },
	{ .name = "plan protocols",
		.args = "",
		.help = "list the protocols a round of a plan may name",
		.run = tool_plan_protocols },
	CM_CLI_COMPLETION,
	{ .name = "version", .args = "", .help = "print the versions of this build", .run = version },
	{ .name = NULL },
};

int main(int argc, char **argv)
{
	static const struct cm_cli_program program = {
		.name = "tombola",
		.summary = "Certificates and plans for rounds of differential privacy in the shuffle model.",
		.verb = verbs,
	};

	cm_inherited_mend();
	cr_libcrypto_begin();
	return cm_cli_main(&program, argc, argv);
}
