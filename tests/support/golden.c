/* golden.c - reads the golden vectors. */
#include "golden.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define GOLDEN TEST_DATA "/golden"

json_t *golden_vector(const char *name, struct cm_buf *bytes)
{
	char path[512];
	const char *hex;
	json_t *vector;
	uint8_t *at;

	(void)snprintf(path, sizeof path, GOLDEN "/%s.json", name);
	vector = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	hex = json_string_value(json_object_get(vector, "bytes"));
	if (!hex)
		fail_msg("%s: no vector", path);
	cm_buf_init(bytes, 1u << 20);
	at = cm_buf_room(bytes, strlen(hex) / 2);
	assert_non_null(at);
	bytes->len = strlen(hex) / 2;
	assert_int_equal(cm_unhex(hex, at, bytes->len), CM_OK);
	return vector;
}

void golden_bytes(const char *name, struct cm_buf *bytes)
{
	json_decref(golden_vector(name, bytes));
}

void golden_each(void (*visit)(const char *name))
{
	DIR *dir = opendir(GOLDEN);
	const struct dirent *e;
	char name[256];

	assert_non_null(dir);
	while ((e = readdir(dir)))
		if (sscanf(e->d_name, "%250[^.].json", name) == 1)
			visit(name);
	assert_int_equal(closedir(dir), 0);
}
