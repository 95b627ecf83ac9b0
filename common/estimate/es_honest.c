/* es_honest.c - intervals around a range of estimates. */
#include "es_honest.h"

#include "es_law.h"

void es_honest_normal(double least, double most, double sd, size_t joint, struct es_honest *out)
{
	double z = es_normal_upper(0.025), joint_z = es_normal_upper(es_joint_tail(joint));

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
