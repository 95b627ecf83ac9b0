/* test_left_out.c - the devices that a round does not take: counted by certificate, and in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "sh_left_out.h"
#include "tombola.pb-c.h"

#define WHY(name) TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_##name

static const uint8_t gateway[SH_TAG_LEN] = { 1 }, other[SH_TAG_LEN] = { 2 };
static const struct sh_leaver of_gateway = { gateway, "gateway", 100 }, of_other = { other, "other", 10 };

static void a_certificate_counts_for_no_more_devices_than_it_speaks_for(void **state)
{
	struct sh_left_out l = { 0 };

	(void)state;
	sh_left_out_sent(&l, &of_gateway, WHY(MAX_SHARE), 60);
	sh_left_out_sent(&l, &of_gateway, WHY(MAX_SHARE), 60);
	sh_left_out_sent(&l, &of_gateway, WHY(LATE), 60);
	sh_left_out_decline(&l, &of_gateway, WHY(MIN_BATCH), 60);
	sh_left_out_sent(&l, &of_other, WHY(LATE), 4000);
	assert_int_equal(l.sum.devices[WHY(MAX_SHARE)], 100);
	assert_int_equal(l.sum.devices[WHY(LATE)], 10);
	assert_int_equal(l.sum.devices[WHY(MIN_BATCH)], 0);
	assert_string_equal(l.most[WHY(MAX_SHARE)].name, "gateway");
	assert_int_equal(l.most[WHY(LATE)].devices, 10);
	sh_left_out_fini(&l);
}

static void a_client_that_declines_counts_once_and_not_when_it_takes_part(void **state)
{
	struct sh_left_out l = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		sh_left_out_decline(&l, &of_gateway, WHY(MIN_BATCH), 40);
	assert_int_equal(l.sum.devices[WHY(MIN_BATCH)], 40);
	/* Its last word counts; 0 and too many stand for all that the certificate speaks for. */
	sh_left_out_decline(&l, &of_gateway, WHY(MAX_EPSILON), 0);
	sh_left_out_decline(&l, &of_other, WHY(MAX_EPSILON), 1u << 30);
	assert_int_equal(l.sum.devices[WHY(MIN_BATCH)], 0);
	assert_int_equal(l.sum.devices[WHY(MAX_EPSILON)], 110);
	/* Only a reason of a client is one, and an unknown one of a newer client is, too. */
	sh_left_out_decline(&l, &of_other, WHY(MAX_SHARE), 5);
	sh_left_out_decline(&l, &of_other, RD_LEFT_OUT, 5);
	sh_left_out_decline(&l, &of_other, 0, 5);
	assert_int_equal(l.sum.devices[WHY(MAX_EPSILON)], 110);
	sh_left_out_decline(&l, &of_other, RD_LEFT_OUT - 1, 5);
	assert_int_equal(l.sum.devices[RD_LEFT_OUT - 1], 5);
	sh_left_out_takes_part(&l, gateway);
	sh_left_out_sent(&l, &of_other, WHY(LATE), 0);
	assert_int_equal(l.sum.devices[WHY(MAX_EPSILON)], 0);
	assert_int_equal(l.sum.devices[RD_LEFT_OUT - 1], 0);
	sh_left_out_fini(&l);
}

static void what_came_since_it_was_told_is_news(void **state)
{
	struct sh_left_out l = { 0 };
	struct rd_left_out news;

	(void)state;
	sh_left_out_sent(&l, &of_gateway, WHY(FULL), 7);
	sh_left_out_decline(&l, &of_other, WHY(PLAN), 0);
	sh_left_out_news(&l, &news);
	assert_int_equal(news.devices[WHY(FULL)], 7);
	assert_int_equal(news.devices[WHY(PLAN)], 10);
	sh_left_out_takes_part(&l, other);
	sh_left_out_sent(&l, &of_gateway, WHY(FULL), 2);
	sh_left_out_news(&l, &news);
	assert_int_equal(news.devices[WHY(FULL)], 2);
	assert_int_equal(news.devices[WHY(PLAN)], 0);
	sh_left_out_fini(&l);
}

static void each_reason_has_a_word_and_a_setting_its_reason(void **state)
{
	(void)state;
	assert_int_equal(rd_left_out_of("min_batch"), WHY(MIN_BATCH));
	assert_int_equal(rd_left_out_of("clock"), WHY(CLOCK));
	/* What the shuffler says of a device is no reason of a client. */
	assert_int_equal(rd_left_out_of("max_share"), WHY(DECLINED));
	assert_int_equal(rd_left_out_of("no such key"), WHY(DECLINED));
	assert_int_equal(rd_left_out_of(NULL), WHY(DECLINED));
	assert_string_equal(rd_left_out_name(RD_LEFT_OUT - 1), "other");
	for (unsigned why = 1; why < RD_LEFT_OUT; why++)
		assert_string_equal(rd_left_out_names[rd_left_out_place(why)], rd_left_out_name(why));
}

static void the_largest_number_is_said_first_and_no_reason_in_part(void **state)
{
	struct rd_left_out l = { 0 };
	char text[200];

	(void)state;
	rd_left_out_text(&l, text, sizeof text);
	assert_string_equal(text, "");
	l.devices[WHY(MAX_SHARE)] = 12;
	l.devices[WHY(MIN_BATCH)] = 2400;
	l.devices[WHY(LATE)] = 12;
	rd_left_out_text(&l, text, sizeof text);
	assert_string_equal(text,
		"2,400 declined by `min_batch` of their client's policy; 12 were over max_share of the "
		"shuffler's policy; 12 came after the deadline");
	rd_left_out_text(&l, text, 100);
	assert_string_equal(text, "2,400 declined by `min_batch` of their client's policy");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_certificate_counts_for_no_more_devices_than_it_speaks_for),
		cmocka_unit_test(a_client_that_declines_counts_once_and_not_when_it_takes_part),
		cmocka_unit_test(what_came_since_it_was_told_is_news),
		cmocka_unit_test(each_reason_has_a_word_and_a_setting_its_reason),
		cmocka_unit_test(the_largest_number_is_said_first_and_no_reason_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
