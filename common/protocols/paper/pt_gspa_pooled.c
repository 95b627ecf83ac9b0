/* pt_gspa_pooled.c - personalised response as in GSPA: values of all classes are shuffled together, and
 * classes are sent separately.
 *
 * Chen, Cao, Ge, "A generalized shuffle framework for privacy amplification", 2024, with its errors
 * corrected (doc/protocols/paper.md, "Classes"): it uses the exact law of how many hide a participant in
 * place of its Gaussian limit, and bounds the bias where the choice of a class depends on the value. */
#include "pt_classes.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_slots.h"

static uint32_t messages(const struct pt_randomizer *p)
{
	(void)p;
	return PT_POOLED_MESSAGES;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t word = pt_classes_word(q, p, value, rng);
	uint64_t first = UINT64_C(0) - (cr_rng_u64(rng) >> 63);
	uint64_t said[PT_POOLED_MESSAGES] = { pt_classes_tell(p, value, word, rng), value->level };

	(void)room;
	/* The order of the two messages reveals nothing: the shuffler knows the class, but not which
	 * message states it. */
	for (uint32_t m = 0; m < PT_POOLED_MESSAGES; m++) {
		uint64_t slot = (m ^ first) & 1;

		pt_record_put_slot(
			records + (size_t)m * PT_RECORD_LEN, (uint16_t)slot, slot ? said[1] : said[0]);
	}
}

static void route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	pt_classes_route(p, value, records, &tags[0]);
	pt_classes_route(p, value, records, &tags[1]);
}

const struct pt_device pt_device_gspa_pooled = {
	.name = "gspa-pooled",
	.summary = "GSPA's personalised response, values together and classes apart from them",
	.parameters = &pt_slots_layout,
	.kinds = QY_HISTOGRAM | QY_MEAN,
	.none_symbol = QY_HISTOGRAM,
	.check = pt_classes_check,
	.messages = messages,
	.record_len = pt_slots_record_len,
	.epsilon0 = pt_classes_epsilon0,
	.class_epsilon0 = pt_classes_epsilon0_of,
	.encode = encode,
	.route = route,
};
