/* tool_pki.h - declares the pki verbs of the command `tombola`. */
#pragma once

#include "cm_cli.h"
#include "cr_pki.h"

/* Options of the verbs, by their places in the table of main.c. */
enum tool_pki_init_option { TOOL_INIT_HOSTS, TOOL_INIT_DEVICES };
enum tool_pki_issue_option {
	TOOL_ISSUE_ROLE,
	TOOL_ISSUE_HOSTS,
	TOOL_ISSUE_DEVICES,
	TOOL_ISSUE_DAYS,
	TOOL_ISSUE_OUT,
};
enum tool_pki_request_option { TOOL_REQUEST_ROLE, TOOL_REQUEST_OUT };
enum tool_pki_sign_option {
	TOOL_SIGN_ROLE,
	TOOL_SIGN_HOSTS,
	TOOL_SIGN_DEVICES,
	TOOL_SIGN_DAYS,
	TOOL_SIGN_OUT,
};
/* Most requests and folders on one command line; a folder may hold any number. */
#define TOOL_SIGN_MAX 4096
enum tool_pki_renew_option { TOOL_RENEW_DEVICES, TOOL_RENEW_DAYS, TOOL_RENEW_OUT };
enum tool_pki_renewal_option { TOOL_RENEWAL_WITHIN };

enum cm_rc tool_pki_init(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_issue(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_request(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* Reports each refused request on standard error, goes on with the others, and ends with the exit code of
 * the first refusal. */
enum cm_rc tool_pki_sign(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_renew(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* Exit code 0: it should be renewed; 1: that is not needed; 2: there is no such file. */
enum cm_rc tool_pki_needs_renewal(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_revoke(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
