/* spec.h - rounds as text: `name:key=value,...` to blanket cells (doc/accounting.md, "Cells of the
 * protocols").
 *
 *   pair:p=,beta=,q=[,q2=]           generic:eps0=       rr:eps0=            grr:k=,eps0=
 *   mixbins:k=,eps0=[,dummies=]      bins:k=,dummies=    rappor:d=,eps0=     vrr:s=,eps0=
 *   cells:omega=a/b/..,u=a/b/..,v=a/b/..[,dummies=]
 *
 * Each takes n= (participants, the victim among them; `others` is n-1) and count= (default 1).  n is not
 * needed where participants give no blanket: bins, and mixbins with eps0=inf. */
#pragma once

#include "acct.h"

/* ACCT_EDOMAIN: why holds one sentence, at most room bytes, with the offending part of the text. */
ACCT_CHECK enum acct_rc spec_parse(const char *text, struct acct_round *r, char *why, size_t room);
