/* cr_x25519_eight.c - X25519 in eight lanes, with AVX-512 IFMA; declared in cr_x25519_lanes.h. */
#include "cr_x25519_lanes.h"

#if defined CR_LANES_EMULATED || defined __x86_64__

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_field_eight.h"
#include "cr_secret.h"
/* Compile the shared texts on that field. */
#include "cr_field_text.h"
#include "cr_x25519_text.h"

const struct cr_lanes cr_lanes_eight = {
	LANES,
	here,
	multiply_points,
	multiples_of,
	multiply_scalars,
#ifdef CR_LANES_EMULATED
	&beyond,
#endif
};

#else

static bool here(void)
{
	return false;
}

const struct cr_lanes cr_lanes_eight = { .lanes = 8, .here = here };

#endif
