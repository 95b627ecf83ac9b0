/* rd_loss_text.h - writes the privacy loss of a round as text for ledgers, exact to the bit, and reads it
 * back.  No I/O.
 *
 * The text has acct_spec_text of each part, each followed by a semicolon, and then the first 16 hexadecimal
 * digits of the SHA-256 of all that.  So damaged text is not read as a smaller loss. */
#pragma once

#include "cm_buf.h"
#include "pt_loss.h"

#define RD_LOSS_TEXT_MAX ((size_t)PT_PARTS_MAX * 8200)

/* Append the text to out, without a NUL.  CM_EINTERNAL: no round can have this loss. */
CM_CHECK enum cm_rc rd_loss_put(const struct pt_loss *loss, struct cm_buf *out, struct cm_err *err);
/* CM_EDATA: the text is damaged; *out must not be used. */
CM_CHECK enum cm_rc rd_loss_take(const char *text, size_t len, struct pt_loss *out, struct cm_err *err);
