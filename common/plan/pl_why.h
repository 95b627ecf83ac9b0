/* pl_why.h - says in words why protocol "auto" chose a row. */
#pragma once

#include "pl_choose.h"

#define PL_WHY_LEN 384

/* Write one line: the choice, the second best candidate, and what limits the error. */
void pl_choice_why(const struct pl_choice *c, char out[PL_WHY_LEN]);
