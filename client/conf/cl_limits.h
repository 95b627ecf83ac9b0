/* cl_limits.h - limits of the client's configuration by which other files size their arrays. */
#pragma once

#define CL_CONNECTIONS_MAX 8u    /* most connections to the shuffler */
#define CL_ADDRESSES_MAX   8u    /* most addresses of the shuffler */
#define CL_PROOFS_MAX      4096u /* most watched messages of a round */
