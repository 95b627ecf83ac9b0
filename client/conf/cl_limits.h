/* cl_limits.h - maxima of the client's configuration that size arrays in other files. */
#pragma once

#define CL_CONNECTIONS_MAX 8u    /* connections to the shuffler */
#define CL_ADDRESSES_MAX   8u    /* addresses of the shuffler */
#define CL_PROOFS_MAX      4096u /* watched messages of a round */
