/* rd_loss_text.c - writes the privacy loss of a round as text, and reads it back. */
#include "rd_loss_text.h"

#include <string.h>

#include "acct_spec.h"
#include "cr_hash.h"

#define CHECKED 8u  /* so many bytes of the hash are written behind the text */
#define DIGITS  16u /* as many hexadecimal digits */

_Static_assert(RD_LOSS_TEXT_MAX >= PT_PARTS_MAX * ACCT_SPEC_MAX + DIGITS, "every loss has a text");

static void digits(const void *text, size_t len, char out[DIGITS + 1])
{
	uint8_t hash[CR_HASH_LEN];

	cr_sha256(text, len, hash);
	cm_hex(hash, CHECKED, out);
}

enum cm_rc rd_loss_put(const struct pt_loss *loss, struct cm_buf *out, struct cm_err *err)
{
	char text[ACCT_SPEC_MAX], check[DIGITS + 1];
	size_t start = out->len;
	enum cm_rc rc = CM_OK;

	if (loss->parts < 1 || loss->parts > PT_PARTS_MAX)
		return cm_fail(err, CM_EINTERNAL, "a loss of %zu parts", loss->parts);
	for (size_t i = 0; i < loss->parts && rc == CM_OK; i++) {
		size_t len;

		if (acct_spec_text(&loss->part[i], text) != ACCT_OK)
			return cm_fail(err, CM_EINTERNAL, "a part of the loss is not a valid round");
		len = strlen(text);
		text[len] = ';'; /* the hash overwrites the NUL: put the separator back */
		rc = cm_buf_put(out, text, len + 1);
	}
	if (rc == CM_OK) {
		digits(out->data + start, out->len - start, check);
		rc = cm_buf_put(out, check, DIGITS);
	}
	return rc == CM_OK ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

static bool take_part(const char *text, size_t len, struct acct_round *out)
{
	char copy[ACCT_SPEC_MAX], why[160];
	struct acct_spec s;

	if (len >= sizeof copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (acct_spec_parse(copy, &s, why, sizeof why) != ACCT_OK)
		return false;
	*out = s.round;
	return true;
}

static bool take_parts(const char *at, const char *stop, struct pt_loss *out)
{
	out->parts = 0;
	out->pure = 0;
	while (at < stop) {
		const char *end = memchr(at, ';', (size_t)(stop - at));

		if (!end || out->parts == PT_PARTS_MAX ||
			!take_part(at, (size_t)(end - at), &out->part[out->parts]))
			return false;
		out->parts++;
		at = end + 1;
	}
	return out->parts > 0;
}

enum cm_rc rd_loss_take(const char *text, size_t len, struct pt_loss *out, struct cm_err *err)
{
	char check[DIGITS + 1];

	if (len > DIGITS) {
		digits(text, len - DIGITS, check);
		if (memcmp(text + len - DIGITS, check, DIGITS) == 0 &&
			take_parts(text, text + len - DIGITS, out))
			return CM_OK;
	}
	return cm_fail(err, CM_EDATA, "a loss that is damaged");
}
