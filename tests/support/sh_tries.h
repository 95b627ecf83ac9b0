/* sh_tries.h - tries of the entries of a plan, at the shuffler of sh_play.h. */
#pragma once

#include "sh_steps.h"

#include <string.h>

static inline void says(enum cm_rc rc, Tombola__V1__ErrorCode code, const char *text)
{
	steps_refused(rc, code);
	if (!strstr(play.no.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, play.no.text);
}

/* Reserve and announce entry `entry` of the last plan. */
static inline enum cm_rc try_entry(uint32_t entry, uint32_t attempt, const uint8_t *void_manifest)
{
	sh_play_describe(&play, &(struct sh_wish){ .entry = entry,
					.min_reports = 10,
					.attempt = attempt,
					.void_manifest = void_manifest });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	return sh_play_announce(&play);
}

static inline void plan_of(uint32_t entries)
{
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10, .entries = entries });
}
