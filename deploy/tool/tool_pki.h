/* tool_pki.h - the pki verbs of the command `tombola`. */
#pragma once

#include "cm_cli.h"
#include "cr_pki.h"

/* Options of the verbs, by their place in the table of main.c. */
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
/* Requests and folders on one command line; a folder holds any number. */
#define TOOL_SIGN_MAX 4096
enum tool_pki_renew_option { TOOL_RENEW_DEVICES, TOOL_RENEW_DAYS, TOOL_RENEW_OUT };
enum tool_pki_renewal_option { TOOL_RENEWAL_WITHIN };

enum cm_rc tool_pki_init(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_issue(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_request(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* Says each request that is refused on standard error, goes on, and ends with the exit code of the first. */
enum cm_rc tool_pki_sign(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_renew(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_show(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* Exit code 0: renew; 1: no need; 2: no such file. */
enum cm_rc tool_pki_needs_renewal(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
enum cm_rc tool_pki_revoke(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
