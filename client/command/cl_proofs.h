/* cl_proofs.h - carries out the verb `proofs`: requests at once the proofs that the daemon would request at
 * random moments, and prints the results. */
#pragma once

#include "cm_cli.h"

enum { CL_PROOFS_SAVE, CL_PROOFS_OUT, CL_PROOFS_WAIT };

/* wait_ms: how long to wait for the answers.  CM_EPROTO: the shuffler broke a signed promise; the counts are
 * printed in that case, too. */
CM_CHECK enum cm_rc cl_proofs(const struct cm_cli *cli, int64_t wait_ms, struct cm_err *err);
