/* SPDX-License-Identifier: Apache-2.0 */
/* A model of how the tensor cores of sm_90 add FP8 products: a step of 32 along k aligns its products and the
 * accumulator to the largest of them and cuts off, towards zero, what lies 13 bits below its leading one (about 14 bits:
 * DeepSeek-V3, arXiv 2412.19437, 3.3.2). */
#ifndef RIDGE_SUPPORT_FP8_ACCUMULATOR_H
#define RIDGE_SUPPORT_FP8_ACCUMULATOR_H

#include <math.h>
#include <stdint.h>

enum { FP8_ACCUMULATOR_STEP = 32, FP8_ACCUMULATOR_BITS = 13 };

/* sum + a[0] b[0] + ... of `count` products, at most a step. */
static inline double fp8_accumulate(double sum, const float *a, const float *b, int64_t count)
{
    double largest = fabs(sum), total = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)a[i] * b[i]));
    if (largest == 0)
        return 0;
    const double unit = ldexp(1, ilogb(largest) - FP8_ACCUMULATOR_BITS);
    for (int64_t i = 0; i < count; i++)
        total += trunc((double)a[i] * b[i] / unit);
    return (trunc(sum / unit) + total) * unit;
}

/* A sum of k products, promoted to FP32 every `interval`, a multiple of a step; 0: never. */
static inline float fp8_accumulated_dot(const float *a, const float *b, int64_t k, int64_t interval)
{
    float total = 0;
    double sum = 0;
    for (int64_t i = 0; i < k; i += FP8_ACCUMULATOR_STEP) {
        if (interval > 0 && i % interval == 0) {
            total += (float)sum;
            sum = 0;
        }
        sum = fp8_accumulate(sum, a + i, b + i, k - i < FP8_ACCUMULATOR_STEP ? k - i : FP8_ACCUMULATOR_STEP);
    }
    return total + (float)sum;
}

#endif
