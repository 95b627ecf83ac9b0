/* es_honest.c - intervals around a range of estimates. */
#include "es_honest.h"

#include "es_law.h"

double es_known_tail(size_t joint)
{
	return 0.9 * (1 - ES_KNOWN) * 2 * es_joint_tail(joint);
}

void es_honest_normal(double least, double most, double sd, size_t joint, double part, struct es_honest *out)
{
	double z = es_normal_upper(0.025 * part), joint_z = es_normal_upper(es_joint_tail(joint) * part);

	*out = (struct es_honest){ .least = least,
		.most = most,
		.lower = least - z * sd,
		.upper = most + z * sd,
		.joint_lower = least - joint_z * sd,
		.joint_upper = most + joint_z * sd };
}

void es_honest_undefined(double low, double high, struct es_honest *out)
{
	*out = (struct es_honest){ low, high, low, high, low, high };
}
