/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/resource.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *label;
    bool per_sm; /* lengthened by a partly filled wave; HBM, L2 and launches are not */
} resources[RES_COUNT + 1] = {
    [RES_HBM] = {"hbm", "HBM", false},
    [RES_L2] = {"l2", "L2", false},
    [RES_SMEM] = {"smem", "shared memory", true},
    [RES_DSMEM] = {"dsmem", "distributed shared memory", true},
    [RES_TENSOR_BF16] = {"tensor_bf16", "tensor cores BF16", true},
    [RES_TENSOR_FP8] = {"tensor_fp8", "tensor cores FP8", true},
    [RES_FP32] = {"fp32", "FP32", true},
    [RES_EXP] = {"exp", "exponentials (MUFU)", true},
    [RES_CONVERT] = {"convert", "conversions", true},
    [RES_LAUNCH] = {"launch", "launch floor", false},
    [RES_WAVE] = {"wave", "last wave", false},
    [RES_COUNT] = {"none", "none", false},
};

static int known(enum resource resource)
{
    return (int)resource >= 0 && resource < RES_COUNT ? (int)resource : RES_COUNT;
}

const char *resource_name(enum resource resource)
{
    return resources[known(resource)].name;
}

const char *resource_label(enum resource resource)
{
    return resources[known(resource)].label;
}

const struct ceiling_info ceiling_info[CEILING_COUNT] = {
    {"hbm_read", "HBM read", "B/s", false},
    {"hbm_copy", "HBM copy", "B/s", false},
    {"hbm_write", "HBM write", "B/s", false},
    {"l2", "L2 read", "B/s", true},
    {"smem", "shared memory", "B/s", true},
    {"dsmem", "distributed shared memory", "B/s", true},
    {"tensor_bf16", "tensor cores BF16", "FLOP/s", true},
    {"tensor_fp8", "tensor cores FP8", "FLOP/s", true},
    {"fp32", "FP32 FMA", "FLOP/s", true},
    {"exp", "exponentials (MUFU)", "op/s", true},
    {"cvt_e4m3_f16", "e4m3 to f16", "op/s", true},
    {"cvt_f16_f32", "f16 to f32", "op/s", true},
    {"cvt_f32_bf16", "f32 to bf16", "op/s", true},
    {"mul_bf16", "bf16 multiply", "op/s", true},
    {"launch_s", "launch floor", "s", false},
};

double *ceiling_at(struct ceilings *c, int field)
{
    double *const at[CEILING_COUNT] = {
        &c->hbm_read,     &c->hbm_copy,    &c->hbm_write,    &c->l2,       &c->smem,
        &c->dsmem,        &c->tensor_bf16, &c->tensor_fp8,   &c->fp32,     &c->exp,
        &c->cvt_e4m3_f16, &c->cvt_f16_f32, &c->cvt_f32_bf16, &c->mul_bf16, &c->launch_s,
    };
    return at[field];
}

struct ceilings ceilings_unknown(void)
{
    struct ceilings ceilings = {.sms = 0};
    for (int i = 0; i < CEILING_COUNT; i++)
        *ceiling_at(&ceilings, i) = NAN;
    return ceilings;
}

struct ceilings ceilings_merge(const struct ceilings *measured, const struct ceilings *specified)
{
    struct ceilings merged = *measured, fallback = *specified;
    for (int i = 0; i < CEILING_COUNT; i++)
        if (isnan(*ceiling_at(&merged, i)))
            *ceiling_at(&merged, i) = *ceiling_at(&fallback, i);
    /* One measured direction of HBM outweighs the specified figure of another: interpolation takes the nearest. */
    if (!isnan(measured->hbm_read) || !isnan(measured->hbm_copy) || !isnan(measured->hbm_write)) {
        merged.hbm_read = measured->hbm_read;
        merged.hbm_copy = measured->hbm_copy;
        merged.hbm_write = measured->hbm_write;
    }
    if (merged.sms <= 0)
        merged.sms = specified->sms;
    return merged;
}

double work_number(const json_t *work, const char *key)
{
    const json_t *value = json_object_get(work, key);
    return json_is_number(value) ? json_number_value(value) : 0;
}

double work_flops(const json_t *work)
{
    return work_number(work, "flop_bf16") + work_number(work, "flop_fp8") + work_number(work, "flop_fp32");
}

double work_hbm_bytes(const json_t *work)
{
    return work_number(work, "bytes_hbm_read") + work_number(work, "bytes_hbm_write");
}

static double quotient(double demand, double ceiling)
{
    return demand > 0 ? demand / ceiling : 0;
}

/* Piecewise linear in the share of writes through read (0), copy (0.5), write (1); constant beyond what is known. */
static double hbm_ceiling(const struct ceilings *ceilings, double write_share)
{
    const double at[3] = {0, 0.5, 1}, rate[3] = {ceilings->hbm_read, ceilings->hbm_copy, ceilings->hbm_write};
    int below = -1, above = -1;
    for (int i = 0; i < 3; i++) {
        if (isnan(rate[i]))
            continue;
        if (at[i] <= write_share)
            below = i;
        if (at[i] >= write_share && above < 0)
            above = i;
    }
    if (below < 0 && above < 0)
        return NAN;
    if (below < 0 || above < 0 || below == above)
        return rate[below < 0 ? above : below];
    return rate[below] + (rate[above] - rate[below]) * (write_share - at[below]) / (at[above] - at[below]);
}

/* A last wave that lengthens the floor by less is no bound: the unit that works through all waves is. */
static const double WAVE_BINDS = 1.1;

static void add_wave(struct bound *bound, double tiles, int sms)
{
    bound->wave = 1;
    if (!(tiles > 0) || sms <= 0)
        return;
    bound->wave = ceil(tiles / sms) * sms / tiles;
    double largest = 0, per_sm = 0;
    for (int i = 0; i < RES_WAVE; i++) {
        largest = fmax(largest, bound->seconds[i]);
        if (resources[i].per_sm)
            per_sm = fmax(per_sm, bound->seconds[i]);
    }
    if (bound->wave > WAVE_BINDS && per_sm * bound->wave > largest)
        bound->seconds[RES_WAVE] = per_sm * bound->wave;
}

static void rank(struct bound *bound)
{
    int first = RES_HBM, second = -1;
    for (int i = 0; i < RES_COUNT; i++)
        if (bound->seconds[i] > 0 && !(bound->seconds[i] <= bound->seconds[first]))
            first = i;
    for (int i = 0; i < RES_COUNT; i++)
        if (i != first && bound->seconds[i] > 0 && (second < 0 || bound->seconds[i] > bound->seconds[second]))
            second = i;
    bound->first = (enum resource)first;
    bound->second = (enum resource)(second < 0 ? first : second);
    bound->floor_s = bound->seconds[first] > 0 ? bound->seconds[first] : 0;
    bound->unknown = RES_COUNT;
    for (int i = RES_LAUNCH - 1; i >= 0; i--)
        if (isnan(bound->seconds[i]))
            bound->unknown = (enum resource)i;
}

/* Packed conversions (F2FP) share a pipe; those to FP32 (HADD2.F32) and the products (HMUL2) another. A floor may not
 * add up what can run side by side. */
static double conversions(const json_t *work, const struct ceilings *c)
{
    const double packed = quotient(work_number(work, "cvt_e4m3_f16"), c->cvt_e4m3_f16) +
                          quotient(work_number(work, "cvt_f32_bf16"), c->cvt_f32_bf16);
    const double half = quotient(work_number(work, "cvt_f16_f32"), c->cvt_f16_f32) +
                        quotient(work_number(work, "mul_bf16"), c->mul_bf16);
    return isnan(packed) || isnan(half) ? NAN : fmax(packed, half);
}

static struct bound bound_with(const json_t *work, const struct ceilings *c, bool hbm_from_l2)
{
    struct bound bound = {.wave = 1};
    double read = work_number(work, "bytes_hbm_read"), write = work_number(work, "bytes_hbm_write");
    double l2 = work_number(work, "bytes_l2"), *seconds = bound.seconds;

    if (hbm_from_l2) {
        l2 = fmax(l2, read + write);
        read = write = 0;
    }
    seconds[RES_HBM] = quotient(read + write, hbm_ceiling(c, read + write > 0 ? write / (read + write) : 0));
    seconds[RES_L2] = quotient(l2, c->l2);
    seconds[RES_SMEM] = quotient(work_number(work, "bytes_smem"), c->smem);
    seconds[RES_DSMEM] = quotient(work_number(work, "bytes_dsmem"), c->dsmem);
    seconds[RES_TENSOR_BF16] = quotient(work_number(work, "flop_bf16"), c->tensor_bf16);
    seconds[RES_TENSOR_FP8] = quotient(work_number(work, "flop_fp8"), c->tensor_fp8);
    seconds[RES_FP32] = quotient(work_number(work, "flop_fp32"), c->fp32);
    seconds[RES_EXP] = quotient(work_number(work, "exp"), c->exp);
    seconds[RES_CONVERT] = conversions(work, c);
    double launches = work_number(work, "launches");
    seconds[RES_LAUNCH] = launches > 0 ? launches * c->launch_s : 0;
    add_wave(&bound, work_number(work, "tiles"), c->sms);
    rank(&bound);
    return bound;
}

struct bound bound_of(const json_t *work, const struct ceilings *ceilings)
{
    return bound_with(work, ceilings, false);
}

static const json_t *demand(const json_t *record)
{
    const json_t *work = json_object_get(record, "work");
    const json_t *issued = json_object_get(work, "issued");
    return json_object_size(issued) > 0 ? issued : json_object_get(work, "useful");
}

static bool served_by_l2(const json_t *record)
{
    const json_t *cache = json_object_get(json_object_get(record, "mode"), "cache");
    const char *requested = json_string_value(json_object_get(cache, "requested"));
    double l2_bytes = work_number(json_object_get(record, "device"), "l2_bytes");
    const json_t *useful = json_object_get(json_object_get(record, "work"), "useful");
    return requested && strcmp(requested, "hot") == 0 && work_hbm_bytes(useful) <= l2_bytes;
}

struct bound record_bound(const json_t *record, const struct ceilings *ceilings)
{
    return bound_with(demand(record), ceilings, served_by_l2(record));
}

bool bound_explains(double floor_s, double measured_s)
{
    return floor_s >= measured_s / 3;
}

bool bound_exceeded(double measured_s, double floor_s)
{
    enum { NOISE_PERCENT = 2 };
    return measured_s * (100 + NOISE_PERCENT) < floor_s * 100;
}

bool record_exceeds(const json_t *record, const struct ceilings *ceilings)
{
    struct ceilings without_launch = *ceilings;
    without_launch.launch_s = NAN;
    return bound_exceeded(record_time_s(record), record_bound(record, &without_launch).floor_s);
}

double record_time_s(const json_t *record)
{
    const json_t *median = json_object_get(json_object_get(record, "time"), "median_ns");
    return json_is_number(median) ? json_number_value(median) * 1e-9 : NAN;
}

struct placed place(const json_t *record, const struct ceilings *target)
{
    struct bound bound = record_bound(record, target);
    return (struct placed){.floor_s = bound.floor_s, .bound = bound.first, .unknown = bound.unknown};
}

static double lengthened(const struct bound *bound, int resource)
{
    return bound->seconds[resource] * (resources[resource].per_sm ? bound->wave : 1);
}

struct projected project(const json_t *record, const struct ceilings *source, const struct ceilings *target)
{
    struct ceilings there = *target;
    if (isnan(there.launch_s))
        there.launch_s = source->launch_s;
    struct bound here = record_bound(record, source), bound = record_bound(record, &there);
    double time_s = record_time_s(record);
    int first = -1, second = -1;
    for (int i = 0; i < RES_WAVE; i++) {
        if (!(lengthened(&here, i) > 0))
            continue;
        if (first < 0 || lengthened(&here, i) > lengthened(&here, first)) {
            second = first;
            first = i;
        } else if (second < 0 || lengthened(&here, i) > lengthened(&here, second)) {
            second = i;
        }
    }
    if (first < 0)
        return (struct projected){NAN, NAN, NAN, bound.first};

    double scaled = time_s * lengthened(&bound, first) / lengthened(&here, first);
    double other = second < 0 ? scaled : time_s * lengthened(&bound, second) / lengthened(&here, second);
    if (isnan(other))
        other = scaled;
    if (isnan(scaled))
        return (struct projected){NAN, NAN, NAN, (enum resource)first};
    /* The same efficiency cannot beat the other device's roof when another resource takes over there. */
    double floor_s = bound.floor_s;
    return (struct projected){
        .seconds = fmax(scaled, floor_s),
        .low_s = fmax(fmin(scaled, other), floor_s),
        .high_s = fmax(fmax(scaled, other), floor_s),
        .bound = scaled < floor_s ? bound.first : (enum resource)first,
    };
}
