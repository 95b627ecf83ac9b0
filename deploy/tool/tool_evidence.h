/* tool_evidence.h - carries out the verb `evidence verify` of `tombola`. */
#pragma once

#include "cm_cli.h"

enum { TOOL_EVIDENCE_KEY };

/* Exit code 0: the evidence convicts the shuffler of that key, and one line says how.  65: the files are
 * malformed or prove nothing.  77: they are not signed by that key, or were altered. */
enum cm_rc tool_evidence_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
