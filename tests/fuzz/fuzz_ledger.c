/* fuzz_ledger.c - any bytes as a ledger file; what is accepted can be appended to, and reads back the
 * same. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Once in two runs the input follows a good first line, so that the fuzzer need not find it. */
static void spill(int fd, const uint8_t *data, size_t size)
{
	size_t skip = size > 0 && (data[0] & 1) != 0 ? 1 : 0, at = skip != 0 ? AN_LEDGER_MAGIC_LEN : 0;

	require(pwrite(fd, AN_LEDGER_MAGIC, at, 0) == (ssize_t)at);
	require(pwrite(fd, data + skip, size - skip, (off_t)at) == (ssize_t)(size - skip));
	require(ftruncate(fd, (off_t)(at + size - skip)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd = -1;
	struct an_ledger *l = NULL;
	struct cm_err err;
	struct rd_chain before;
	size_t torn;

	if (fd < 0) {
		(void)snprintf(path, sizeof path, "/dev/shm/fuzz-ledger-%ld", (long)getpid());
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		require(fd >= 0);
	}
	spill(fd, data, size);
	if (an_ledger_open(path, false, &l, &torn, &err) != CM_OK)
		return 0;
	before = *an_ledger_chain(l);
	for (uint64_t seq = 1; seq <= before.seq; seq++)
		require(an_ledger_entry(l, seq).len <= PR_RECORD_MAX);
	require(an_ledger_is_prefix(l, &before));
	an_ledger_free(l);
	/* Cutting the torn tail loses no record. */
	require(an_ledger_open(path, true, &l, &torn, &err) == CM_OK);
	require(memcmp(an_ledger_chain(l), &before, sizeof before) == 0);
	an_ledger_free(l);
	require(an_ledger_open(path, false, &l, &torn, &err) == CM_OK);
	require(torn == 0 && an_ledger_chain(l)->seq == before.seq);
	an_ledger_free(l);
	return 0;
}
