/* pl_why.h - the choice of protocol "auto" in words. */
#pragma once

#include "pl_choose.h"

#define PL_WHY_LEN 384

/* In one line: what was chosen, what comes next, what binds. */
void pl_choice_why(const struct pl_choice *c, char out[PL_WHY_LEN]);
