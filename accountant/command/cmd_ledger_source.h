/* cmd_ledger_source.h - reads members of the objects of an exported ledger.  For cmd_ledger*.c only. */
#pragma once

#include <jansson.h>

#include "cmd_ledger.h"

/* A part of a record is at most ACCT_MAX_CELLS times three numbers, twice: some 16 KB. */
#define CMD_LEDGER_LINE (1u << 20)

struct cmd_ledger {
	const char *path;
	FILE *file;
	size_t line;
	char text[CMD_LEDGER_LINE];
	struct acct_round part[CMD_LEDGER_PARTS]; /* the parts of the record that was read last */
};

/* The object being read.  The first fault is printed and remembered. */
struct cmd_source {
	struct cmd_ledger *ledger;
	const json_t *object;
	bool first; /* of schema tombola.ledger/1 */
	bool bad;
};

#define CMD_SOURCE_FAULT(s, ...)                                                             \
	do {                                                                                 \
		if (!(s)->bad)                                                               \
			(void)cmd_ledger_fault((s)->ledger, (s)->ledger->line, __VA_ARGS__); \
		(s)->bad = true;                                                             \
	} while (0)

/* A member; a fault when it is missing or has another type. */
const json_t *cmd_source_get(struct cmd_source *s, const char *key);
double cmd_source_real(struct cmd_source *s, const char *key); /* "inf" is one */
double cmd_source_real_within(struct cmd_source *s, const char *key, double least, double most);
uint64_t cmd_source_count(struct cmd_source *s, const char *key);
void cmd_source_text(struct cmd_source *s, const char *key, char out[CMD_LEDGER_NAME]);
void cmd_source_hex(struct cmd_source *s, const char *key, char *out, size_t digits);
/* A fault for a member that is not in the list of known ones, which NULL ends: an unknown member could stand
 * for a loss. */
void cmd_source_only(struct cmd_source *s, const char *const *known, const char *where);

/* The loss of a round, and the blanket messages of its descriptor: cmd_ledger_account.c. */
void cmd_source_account(struct cmd_source *record, struct cmd_record *r);
void cmd_source_dummies(struct cmd_source *record, struct cmd_record *r);
