/* an_sensors.h - makes the topics and messages of one settled round: its state, and a description of each
 * item for Home Assistant.  No I/O. */
#pragma once

#include "an_event.h"

#define AN_TOPIC_MAX 2000u

struct an_topics {
	const char *prefix;    /* prefix of the state's topic: PREFIX/POPULATION/QUERY */
	const char *discovery; /* prefix of Home Assistant's discovery; if empty, nothing is described */
	size_t sensors;        /* most items of a round that are described */
};

/* The topic of a round's state.  In population and query "DOT" stands for ".", so that no two names have
 * the same topic. */
void an_topic_state(const struct an_topics *t, const struct an_event *e, char out[AN_TOPIC_MAX]);
/* How many items are described. */
size_t an_sensors(const struct an_topics *t, const struct an_event *e);
/* The topic and the message that describe item i.  The caller frees the message; NULL if out of memory. */
char *an_sensor(const struct an_topics *t, const struct an_event *e, size_t i, char topic[AN_TOPIC_MAX]);
