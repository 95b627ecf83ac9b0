/* main.c - runs the command `tombola`, whose verbs belong to no single party. */
#include <stdio.h>

#include <openssl/crypto.h>

#include "cm_inherited.h"
#include "cr_libcrypto.h"
#include "tool_demo.h"
#include "tool_evidence.h"
#include "tool_pki.h"
#include "tool_plan.h"

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
	CM_VERB_WITH("demo", "", 0, 0, tool_demo,
		"run a plan through the three daemons on loopback, in a folder of its own",
		[TOOL_DEMO_PLAN] = CM_OPTION("plan", "FILE",
			"run this plan (default: an example with a round that exceeds the budget)"),
		[TOOL_DEMO_READINGS] = CM_OPTION("readings", "FILE",
			"CSV or NDJSON (default: generated, for as many devices as the plan needs)"),
		[TOOL_DEMO_DEVICE_FIELD] = CM_OPTION("device-field", "NAME",
			"field with the name of a reading's device (default: each row is a device)"),
		[TOOL_DEMO_DEVICES] = CM_OPTION("devices", "N", "generate readings of N devices"),
		[TOOL_DEMO_DIR] = CM_OPTION(
			"dir", "DIR", "create DIR and keep all files there (default: a temporary folder)"),
		[TOOL_DEMO_PORT] = CM_OPTION("port", "P", "port of the shuffler (default: a free one)"),
		[TOOL_DEMO_CLIENT_DIALS] = CM_OPTION("client-dials", "HOST:PORT",
			"address that the client dials, for a proxy in front of the shuffler"),
		[TOOL_DEMO_TIMEOUT] =
			CM_OPTION("timeout", "TIME", "stop after this time, like 90s (default 10m)"),
		[TOOL_DEMO_SEED] = CM_OPTION("seed", "N", "seed of the random numbers, for test builds only"),
		[TOOL_DEMO_RECURRENCES] = CM_OPTION("recurrences", "N",
			"ask the first N recurrences of a round, one after the other (default: those that are due)")),
	CM_VERB_WITH("evidence verify", "FILE [FILE]", 1, 2, tool_evidence_verify,
		"check what a client keeps against its shuffler, without a network; exit 0: it proves "
		"misconduct, 65: it proves nothing, 77: that key did not sign it",
		[TOOL_EVIDENCE_KEY] =
			CM_OPTION("shuffler-key", "FILE", "required: the shuffler's public signing key")),
	CM_VERB_WITH("pki init", "DIR", 1, 1, tool_pki_init,
		"make the two CAs, and a folder of keys for each of client, shuffler and analyzer",
		[TOOL_INIT_HOSTS] = CM_OPTION("hosts", "H,H..",
			"names and addresses of the shuffler (default localhost,127.0.0.1,::1)"),
		[TOOL_INIT_DEVICES] = CM_OPTION("devices", "N", "devices the client speaks for (default 1)")),
	CM_VERB_WITH("pki issue", "DIR NAME", 2, 2, tool_pki_issue,
		"issue NAME.crt and NAME.key, with the public files a party of that role needs",
		[TOOL_ISSUE_ROLE] = CM_OPTION("role", "ROLE", "client, shuffler, analyzer or intake"),
		[TOOL_ISSUE_HOSTS] = CM_OPTION("hosts", "H,H..", "names and addresses of a shuffler"),
		[TOOL_ISSUE_DEVICES] = CM_OPTION("devices", "N", "devices a client speaks for (default 1)"),
		[TOOL_ISSUE_DAYS] = CM_OPTION("days", "D", "life of the certificate (default 90)"),
		[TOOL_ISSUE_OUT] = CM_OPTION("out", "DIR", "where to write (default DIR/NAME)")),
	CM_VERB_WITH("pki request", "NAME", 1, 1, tool_pki_request,
		"make the key NAME.key where it stays, and NAME.csr, the request for its certificate",
		[TOOL_REQUEST_ROLE] = CM_OPTION("role", "ROLE", "client, shuffler, analyzer or intake"),
		[TOOL_REQUEST_OUT] = CM_OPTION("out", "DIR", "where to write (default .)")),
	CM_VERB_WITH("pki sign", "DIR REQUEST..", 2, TOOL_SIGN_MAX, tool_pki_sign,
		"issue the certificates of requests, or of all *.csr in a folder",
		[TOOL_SIGN_ROLE] = CM_OPTION("role", "ROLE", "client, shuffler, analyzer or intake"),
		[TOOL_SIGN_HOSTS] = CM_OPTION("hosts", "H,H..", "names and addresses of a shuffler"),
		[TOOL_SIGN_DEVICES] = CM_OPTION("devices", "N", "devices each client speaks for (default 1)"),
		[TOOL_SIGN_DAYS] = CM_OPTION("days", "D", "life of the certificates (default 90)"),
		[TOOL_SIGN_OUT] = CM_OPTION("out", "DIR", "where to write (default: beside each request)")),
	CM_VERB_WITH("pki renew", "DIR CERT..", 2, TOOL_SIGN_MAX, tool_pki_renew,
		"issue parties' certificates again, for the same keys; a folder: all of its *.crt",
		[TOOL_RENEW_DEVICES] =
			CM_OPTION("devices", "N", "devices of a client from now on (default: as they were)"),
		[TOOL_RENEW_DAYS] = CM_OPTION("days", "D", "life of the certificate (default 90)"),
		[TOOL_RENEW_OUT] = CM_OPTION("out", "FILE",
			"new file to write, or folder for several (default: beside CERT, its name with -renewed)")),
	CM_VERB("pki show", "FILE", 1, 1, tool_pki_show, "print the contents of a certificate"),
	CM_VERB_WITH("pki needs-renewal", "FILE", 1, 1, tool_pki_needs_renewal,
		"check whether a certificate must be renewed; exit 0 yes, 1 not yet, 2 no such file",
		[TOOL_RENEWAL_WITHIN] = CM_OPTION(
			"within", "TIME", "renew when less is left, like 12h or 30d (default 30d)")),
	CM_VERB("pki revoke", "DIR CERT", 2, 2, tool_pki_revoke,
		"put a certificate on its CA's revocation list and refresh the parties' copies"),
	CM_VERB("plan check", "FILE", 1, 1, tool_plan_check,
		"print the faults of a plan as file:line: text; those of keys and types before all others"),
	CM_VERB("plan digest", "FILE", 1, 1, tool_plan_digest, "print the SHA-256 that identifies a plan"),
	CM_VERB("plan cost", "FILE", 1, 1, tool_plan_cost,
		"show what each round would spend, and which would be refused"),
	CM_VERB("plan optimise", "FILE", 1, 1, tool_plan_optimise,
		"print the plan with each epsilon0 = \"error 50\" or \"weight 2\" replaced by a number"),
	CM_VERB("plan protocols", "", 0, 0, tool_plan_protocols,
		"list the protocols a round of a plan may name"),
	CM_CLI_COMPLETION,
	CM_VERB("version", "", 0, 0, version, "print the versions of this build"),
	{ 0 },
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
