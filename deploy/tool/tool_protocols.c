/* tool_protocols.c - the protocols a plan may name. */
#include "tool_protocols.h"

#include <jansson.h>
#include <stdio.h>

#include "cm_table.h"
#include "pt_device.h"

#define ANSWERS_LEN 128u

/* "mean, sum": every kind is a bit. */
static const char *answers(const struct pt_device *row, char out[ANSWERS_LEN])
{
	size_t used = 0;

	for (unsigned kind = 1; kind <= row->kinds && used < ANSWERS_LEN; kind <<= 1)
		if (row->kinds & kind)
			used += (size_t)snprintf(out + used, ANSWERS_LEN - used, "%s%s", used > 0 ? ", " : "",
				qy_kind_name((enum qy_kind)kind));
	return out;
}

static enum cm_rc print_json(struct cm_err *err)
{
	json_t *list = json_array(), *doc;
	const struct pt_device *row;
	char kinds[ANSWERS_LEN];
	int bad = !list;

	for (size_t i = 0; !bad && (row = pt_device_at(i)); i++)
		bad = json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", row->name, "answers",
							  answers(row, kinds), "summary", row->summary));
	doc = bad ? NULL : json_pack("{s:s, s:O}", "schema", "tombola.protocols/1", "protocols", list);
	bad = !doc || json_dumpf(doc, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;
	json_decref(list);
	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_protocols(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	static const char *const head[] = { "protocol", "answers", "how" };
	const struct pt_device *row;
	struct cm_table *table;
	char kinds[ANSWERS_LEN];

	(void)exit_code;
	if (cli->json)
		return print_json(err);
	table = cm_table_new("<<<", head);
	for (size_t i = 0; (row = pt_device_at(i)); i++)
		cm_table_row(table, (const char *const[]){ row->name, answers(row, kinds), row->summary });
	cm_table_print(table, stdout);
	cm_table_free(table);
	return CM_OK;
}
