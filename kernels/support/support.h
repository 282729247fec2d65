/* SPDX-License-Identifier: Apache-2.0 */
/* The harness' own device code: filling, checking, cache preparation, clock stamps, the blocking kernel.
 * Every function enqueues on `stream` and returns the cudaError_t of the launch as an int. */
#ifndef RIDGE_SUPPORT_H
#define RIDGE_SUPPORT_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* data: 0 random, 1 zeros, 2 ones, 3 outliers; see kernels/support/fill.h. */
int support_fill(void *dst, enum ridge_dtype dtype, enum ridge_fill fill, double scale, int data, int64_t count,
                 uint64_t seed, void *stream);

/* *counter (device) += bytes of src that differ from `byte`. */
int support_count_not(const void *src, int byte, size_t bytes, unsigned long long *counter, void *stream);

/* *sum (device) += an order-independent 64-bit checksum of position and content. */
int support_checksum(const void *src, size_t bytes, unsigned long long *sum, void *stream);

/* Errors of one tile, in units of the tolerance; a NaN anywhere or a difference under an exact tolerance is +inf. */
struct support_tile {
    float max, max_abs, sum_squares; /* sum of squared errors in units of the tolerance */
    double error_squares, ref_squares; /* sums of squared errors and references as they are; infinities count as 0 */
    uint32_t elements;
    int64_t at; /* element of max */
};

/* One tile per 128 rows x 128 columns of a matrix with `columns` columns (0: per 16384 elements).
 * 32-bit integers are compared as bits, with ref holding the bits. tile: device array of support_tiles(). */
int64_t support_tiles(int64_t count, int64_t columns);
int support_compare(const void *out, enum ridge_dtype dtype, const float *ref, const float *mag, int64_t count,
                    int64_t columns, double rel, double mag_rel, struct support_tile *tile, void *stream);

/* Reads `bytes` (multiple of 16), for clean flushes and for touching a buffer. */
int support_read(const void *src, size_t bytes, uint32_t *sink, void *stream);

/* Spins until *release (host memory mapped into the device) is nonzero, or for timeout_ns. */
int support_block(const volatile uint32_t *release, uint64_t timeout_ns, void *stream);

/* Clock readings of one SM, written to mapped host memory. */
struct support_stamp {
    uint64_t sm_cycles, global_ns;
    uint32_t sm;
};
int support_stamp(struct support_stamp *stamp, void *stream);
int support_empty(void *stream);

#ifdef __cplusplus
}
#endif

#endif
