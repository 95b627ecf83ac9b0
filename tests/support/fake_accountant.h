/* fake_accountant.h - an accountant whose answer is arithmetic: epsilon is the sum of count * others / 1000.
 * It stands where the real one would by the linker's --wrap: acct_epsilon and the functions of acct_state. */
#pragma once

#include <stdint.h>

#include "acct.h"

extern struct fake_accountant {
	enum acct_rc rc;
	double answer; /* instead of the sum, unless 0 */
	double error;  /* of what the state answers until it is rebuilt */
	unsigned calls, alone, rebuilt;
} acct;

/* A round that costs `thousandths` under this arithmetic. */
struct acct_round costing(uint64_t thousandths);
