/* rd_loss_text.h - what a round costs as text, for ledgers: to the bit, and whole or not at all.  No I/O.
 *
 * The parts as acct_spec_text has them, each before a semicolon; then 16 hexadecimal digits of the SHA-256 of
 * that, so that no damage passes for less of a loss. */
#pragma once

#include "cm_buf.h"
#include "pt_loss.h"

#define RD_LOSS_TEXT_MAX ((size_t)PT_PARTS_MAX * 8200)

/* Appended to out, without a NUL.  CM_EINTERNAL: it is no loss that a round can have. */
CM_CHECK enum cm_rc rd_loss_put(const struct pt_loss *loss, struct cm_buf *out, struct cm_err *err);
/* CM_EDATA: it is damaged; *out is then of no use. */
CM_CHECK enum cm_rc rd_loss_take(const char *text, size_t len, struct pt_loss *out, struct cm_err *err);
