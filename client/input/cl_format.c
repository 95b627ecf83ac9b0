/* cl_format.c - what the parsers of CSV and NDJSON deliver their rows with. */
#include "cl_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum cm_rc cl_parser_leave_out(struct cl_parser *p, struct cm_err *err)
{
	const struct cl_row row = { .text = p->text,
		.line = p->line,
		.why = "one of more rows or bytes than a device may have in a file: it is left out" };

	return p->conf->on_row(p->conf->user, &row, err);
}

enum cm_rc cl_parser_share(struct cl_parser *p, const uint8_t *name, size_t len, size_t n, struct cm_err *err)
{
	bool fits = true;
	enum cm_rc rc = p->share ? cl_share_take(p->share, name, len, n, &fits, err) : CM_OK;

	if (rc != CM_OK || fits)
		return rc;
	p->left_out = name + len + 1;
	rc = cl_parser_leave_out(p, err);
	return rc == CM_OK ? CM_ELATER : rc;
}

enum cm_rc cl_parser_row(struct cl_parser *p, const char *device, const char *why, struct cm_err *err)
{
	struct cl_row row = {
		.device = device, .text = p->text, .line = p->line, .why = why, .absent = why && p->absent
	};
	char number[24];

	if (!p->conf->device_field) {
		(void)snprintf(number, sizeof number, "%" PRIu64, p->rows);
		row.device = number;
	} else if (!device) {
		row.why = why ? why : "it cannot be told which device this is";
	} else if (*device == '\0') {
		row.device = NULL;
		row.why = "the device field is empty";
	} else if (strlen(device) > CL_DEVICE_MAX) {
		row.device = NULL;
		row.why = "the device field is longer than 200 bytes";
	}
	return p->conf->on_row(p->conf->user, &row, err);
}
