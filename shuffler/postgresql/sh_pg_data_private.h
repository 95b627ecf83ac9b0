/* sh_pg_data_private.h - what the files of sh_pg_data.h share. */
#pragma once

#include "sh_pg_data.h"

#define SH_PG_NAME_MAX_LEN 48u /* "block_", 32 digits, "_", 10 digits */
#define SH_PG_SQL_MAX      640u

struct sh_pg_data {
	struct sh_pg *pg;
	char name[SH_PG_NAME_MAX_LEN]; /* of the tables, after "block_" or "tags_" */
	uint64_t runs;
	bool readonly, indexed;
	bool of_several; /* other servers have partitions of this round, too */
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint32_t partition;
	int64_t epoch; /* for whose commits it was joined; 0: not joined */
};

void sh_pg_data_name(const uint8_t *round_id, uint32_t partition, char name[SH_PG_NAME_MAX_LEN]);
