/* an_export.h - prints the ledger as JSON lines, for auditors. */
#pragma once

#include <stdio.h>

#include "an_ledger_files.h"

/* Print the ledger as JSON lines, one per record and per entry of a plan, "tombola.ledger/3".  Each reserved
 * or charged round comes with the exact parts of its loss, and the same as SPECs of tombola-accountant, so
 * that an auditor can compute the total independently. */
CM_CHECK enum cm_rc an_ledger_export(const struct an_ledger_files *b, FILE *out, struct cm_err *err);
