/* an_announced.c - remembers which round the shuffler accepted last. */
#include "an_announced.h"

#include <stdlib.h>
#include <string.h>

#include "cm_file.h"

#define LINE_LEN (2 * (size_t)PR_ROUND_ID_LEN + 1)

static void line_of(const uint8_t round_id[PR_ROUND_ID_LEN], char line[LINE_LEN + 1])
{
	cm_hex(round_id, PR_ROUND_ID_LEN, line);
	memcpy(line + LINE_LEN - 1, "\n", 2);
}

enum cm_rc an_announced_note(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char line[LINE_LEN + 1], *path = cm_file_join(state_dir, "announced");
	enum cm_rc rc = CM_EINTERNAL;

	line_of(round_id, line);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	else
		rc = cm_file_write(path, (const uint8_t *)line, LINE_LEN, 0600, err);
	free(path);
	return rc;
}

enum cm_rc an_announced_was(
	const char *state_dir, const uint8_t round_id[PR_ROUND_ID_LEN], bool *was, struct cm_err *err)
{
	char line[LINE_LEN + 1], *path = cm_file_join(state_dir, "announced");
	struct cm_buf bytes;
	enum cm_rc rc;

	*was = false;
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	cm_buf_init(&bytes, LINE_LEN);
	line_of(round_id, line);
	rc = cm_file_read(path, LINE_LEN, &bytes, err);
	if (rc == CM_OK)
		*was = bytes.len == LINE_LEN && memcmp(bytes.data, line, LINE_LEN) == 0;
	cm_buf_fini(&bytes);
	free(path);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}
