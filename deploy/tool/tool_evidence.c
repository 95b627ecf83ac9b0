/* tool_evidence.c - checks evidence against a shuffler that clients keep.  It can be run by somebody who
 * takes no part, and needs no network. */
#include "tool_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cm_file.h"
#include "rd_evidence.h"

#define HEX(bytes, text) (cm_hex((bytes), sizeof(bytes), (text)), (text))

static void say(const struct rd_evidence *e)
{
	char round[2 * PR_ROUND_ID_LEN + 1], one[2 * PR_HASH_LEN + 1], two[2 * PR_HASH_LEN + 1];

	if (e->fact == RD_FACT_TWO)
		(void)printf("the shuffler signed two manifests for round %s: %s and %s\n",
			HEX(e->round_id, round), HEX(e->manifest[0], one), HEX(e->manifest[1], two));
	else if (e->fact == RD_FACT_MISSING)
		(void)printf(
			"the shuffler signed that it accepted message %s; its manifest of round %s (number "
			"%" PRIu64 ", %" PRIu64 " messages) has no such message\n",
			HEX(e->message, one), HEX(e->round_id, round), e->sequence, e->messages);
	else if (e->fact == RD_FACT_VOID)
		(void)printf("the shuffler signed that it accepted reports of at least %" PRIu64
			     " devices in round %s (number %" PRIu64
			     "); its manifest says that the round was void with %" PRIu64 " participants\n",
			e->accepted, HEX(e->round_id, round), e->sequence, e->participants);
}

/* Checks one file.  A manifest without evidence is returned in *e too. */
static enum cm_rc check(
	const char *path, const struct cr_verifier *shuffler, struct rd_evidence *e, struct cm_err *err)
{
	struct cm_buf bytes;
	struct cm_err why;

	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	enum cm_rc rc = cm_file_read(path, PR_EVIDENCE_MAX, &bytes, err);
	if (rc == CM_OK) {
		rc = rd_evidence_verify(bytes.data, bytes.len, shuffler, e, err);
		if (rc != CM_OK)
			(void)cm_context(err, "%s", path);
		if (rc == CM_EDATA && rd_evidence_manifest(bytes.data, bytes.len, shuffler, e, &why) != CM_OK)
			e->fact = RD_FACT_NONE;
		else
			say(e);
	}
	cm_buf_fini(&bytes);
	return rc;
}

static bool contradict(const struct rd_evidence *a, const struct rd_evidence *b)
{
	static const uint8_t none[PR_HASH_LEN];

	return memcmp(a->manifest[0], none, PR_HASH_LEN) != 0 &&
	       memcmp(b->manifest[0], none, PR_HASH_LEN) != 0 &&
	       memcmp(a->round_id, b->round_id, PR_ROUND_ID_LEN) == 0 &&
	       memcmp(a->manifest[0], b->manifest[0], PR_HASH_LEN) != 0;
}

static enum cm_rc check_files(
	const struct cm_cli *cli, const struct cr_verifier *shuffler, struct cm_err *err)
{
	struct rd_evidence first = { .fact = RD_FACT_NONE }, second = { .fact = RD_FACT_NONE };
	enum cm_rc rc = check(cli->argv[1], shuffler, &first, err);

	/* Two files together may prove what neither proves alone; an altered file proves nothing. */
	if (cli->argc < 3 || (rc != CM_OK && rc != CM_EDATA))
		return rc;
	enum cm_rc other = check(cli->argv[2], shuffler, &second, err);
	if (other != CM_OK && other != CM_EDATA)
		return other;
	if (contradict(&first, &second)) {
		memcpy(first.manifest[1], second.manifest[0], PR_HASH_LEN);
		first.fact = RD_FACT_TWO;
		say(&first);
		return CM_OK;
	}
	return rc == CM_OK || other == CM_OK
		       ? CM_OK
		       : cm_fail(err, CM_EDATA, "the files prove nothing, alone or together");
}

enum cm_rc tool_evidence_verify(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct cr_verifier *shuffler = NULL;

	(void)exit_code;
	if (!cli->option[TOOL_EVIDENCE_KEY])
		return cm_fail(err, CM_EUSAGE,
			"evidence verify: give --shuffler-key FILE, the shuffler's public signing key");
	enum cm_rc rc = cr_verifier_load(cli->option[TOOL_EVIDENCE_KEY], &shuffler, err);
	if (rc == CM_OK)
		rc = check_files(cli, shuffler, err);
	cr_verifier_free(shuffler);
	return rc;
}
