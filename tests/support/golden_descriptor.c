/* golden_descriptor.c - loads the golden descriptors, changes one and judges it. */
#include "golden_descriptor.h"

#include "golden.h"

struct round_keys analyzer, other;
struct cm_buf golden, golden_mean, golden_none, golden_olh, golden_places, golden_quantiles;
struct cm_err refusal;

void begin(struct change *c, const struct cm_buf *from)
{
	memset(c, 0, sizeof *c);
	memset(c->long_bytes, 0x77, sizeof c->long_bytes);
	memset(c->long_text, 'a', sizeof c->long_text - 1);
	assert_int_equal(pr_doc_decode(&tombola__v1__descriptor__descriptor, from->data, from->len,
				 PR_DESCRIPTOR_MAX, &c->doc, &refusal),
		CM_OK);
	c->m = (Tombola__V1__Descriptor *)c->doc.msg;
}

enum cm_rc finish(struct change *c)
{
	struct rd_descriptor d;
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, 4u << 20);
	assert_int_equal(pr_doc_encode(&c->m->base, &b, &refusal), CM_OK);
	rc = rd_descriptor_decode(b.data, b.len, &d, &refusal);
	rd_descriptor_fini(&d);
	cm_buf_fini(&b);
	pr_doc_free(&c->doc);
	return rc;
}

void expect_refused(struct change *c, const char *field, int line)
{
	enum cm_rc rc = finish(c);

	if (rc != CM_EPROTO)
		fail_msg("line %d: %s accepted", line, field);
	if (!strstr(refusal.msg, field))
		fail_msg("line %d: '%s' does not name %s", line, refusal.msg, field);
}

int set_up(void **state)
{
	(void)state;
	round_keys_make(&analyzer);
	round_keys_make(&other);
	golden_bytes("descriptor_histogram", &golden);
	golden_bytes("descriptor_mean", &golden_mean);
	golden_bytes("descriptor_none", &golden_none);
	golden_bytes("descriptor_olh", &golden_olh);
	golden_bytes("descriptor_places", &golden_places);
	golden_bytes("descriptor_quantiles", &golden_quantiles);
	return 0;
}

int tear_down(void **state)
{
	(void)state;
	round_keys_free(&analyzer);
	round_keys_free(&other);
	cm_buf_fini(&golden);
	cm_buf_fini(&golden_mean);
	cm_buf_fini(&golden_none);
	cm_buf_fini(&golden_olh);
	cm_buf_fini(&golden_places);
	cm_buf_fini(&golden_quantiles);
	return 0;
}
