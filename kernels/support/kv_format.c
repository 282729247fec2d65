/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/support/kv_format.h"

#include <math.h>

#include "kernels/support/fill.h"

static void draw_token(enum kv_data data, int count, uint64_t seed, int64_t token, float *value)
{
    float scale = data == KV_SMALL ? 1e-3f : data == KV_TINY ? 1e-6f : 1.0f;
    for (int i = 0; i < count; i++) {
        uint64_t at = (uint64_t)token * KV_MAX_VALUES + (uint64_t)i;
        int outlier = data == KV_OUTLIERS && fill_hash(~seed, at) % 64 == 0;
        value[i] = fill_normal(seed, at, outlier ? 32 : scale);
    }
}

struct sums {
    double error, value;
};

static double relative_rms(struct sums sums)
{
    return sums.value > 0 ? sqrt(sums.error / sums.value) : 0;
}

static void add(struct sums *sums, double value, double decoded)
{
    sums->error += (decoded - value) * (decoded - value);
    sums->value += value * value;
}

void kv_measure_error(enum kv_format format, enum kv_scale_rule rule, enum kv_data data, int tokens, uint64_t seed,
                      struct kv_error *error)
{
    struct sums quantised = {0}, rope = {0};
    double underflow = 0;
    int width = kv_tile(format), count = kv_quantised(format);
    *error = (struct kv_error){0};
    for (int token = 0; token < tokens; token++) {
        float value[KV_MAX_VALUES], decoded[KV_MAX_VALUES];
        uint8_t block[2 * 576]; /* the largest block of one token: MODEL1 */
        draw_token(data, kv_values(format), seed, token, value);
        kv_encode(format, rule, value, 1, 0, block);
        kv_decode(format, block, 1, 0, decoded);
        for (int tile = 0; tile < kv_tiles(format); tile++) {
            double amax = kv_amax(value + tile * width, width);
            for (int i = tile * width; i < (tile + 1) * width; i++) {
                add(&quantised, value[i], decoded[i]);
                underflow += value[i] != 0 && decoded[i] == 0;
                double share = amax > 0 ? fabs((double)decoded[i] - value[i]) / amax : 0;
                error->max_quantised = share > error->max_quantised ? share : error->max_quantised;
            }
        }
        for (int i = count; i < kv_values(format); i++)
            add(&rope, value[i], decoded[i]);
    }
    error->rms_quantised = relative_rms(quantised);
    error->rms_rope = relative_rms(rope);
    error->underflow = tokens > 0 ? underflow / ((double)tokens * count) : 0;
}
