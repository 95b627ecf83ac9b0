/* pt_gspa_classes.c - personalised response where each class is a batch of its own, so that the choice of a
 * class causes no bias. */
#include "pt_classes.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_slots.h"

static uint32_t messages(const struct pt_randomizer *p)
{
	(void)p;
	return 1;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t word = pt_classes_word(q, p, value, rng);

	(void)room;
	pt_record_put_slot(records, (uint16_t)value->level, pt_classes_tell(p, value, word, rng));
}

const struct pt_device pt_device_gspa_classes = {
	.name = "gspa-classes",
	.summary = "personalised response, the classes apart: unbiased whoever chooses which",
	.parameters = &pt_slots_layout,
	.kinds = QY_HISTOGRAM | QY_MEAN,
	.none_symbol = QY_HISTOGRAM,
	.check = pt_classes_check,
	.messages = messages,
	.record_len = pt_slots_record_len,
	.epsilon0 = pt_classes_epsilon0,
	.class_epsilon0 = pt_classes_epsilon0_of,
	.encode = encode,
	.route = pt_classes_route,
	.classes_apart = true,
};
