/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/resource.h"

#include <math.h>
#include <string.h>

#include "bench/record.h"

/* Which work key of which family measures which ceiling. HBM of the host goes by its share of writes. On the host
 * "smem" is the first-level cache, "l2" the caches beyond it, "hbm" the DRAM. */
static const struct {
    const char *family, *key, *ceiling;
} measures[] = {
    {"ceiling_hbm_read", "bytes_hbm_read", "hbm_read"},
    {"ceiling_hbm_copy", NULL, "hbm_copy"},
    {"ceiling_hbm_write", "bytes_hbm_write", "hbm_write"},
    {"ceiling_l2_read", "bytes_l2", "l2"},
    {"ceiling_smem_read", "bytes_smem", "smem"},
    {"ceiling_dsmem_read", "bytes_dsmem", "dsmem"},
    {"ceiling_wgmma_bf16", "flop_bf16", "tensor_bf16"},
    {"ceiling_wgmma_fp8", "flop_fp8", "tensor_fp8"},
    {"ceiling_fma_f32", "flop_fp32", "fp32"},
    {"ceiling_ex2", "exp", "exp"},
    {"ceiling_cvt_e4m3_f16", "cvt_e4m3_f16", "cvt_e4m3_f16"},
    {"ceiling_cvt_f16_f32", "cvt_f16_f32", "cvt_f16_f32"},
    {"ceiling_cvt_f32_bf16", "cvt_f32_bf16", "cvt_f32_bf16"},
    {"ceiling_mul_bf16", "mul_bf16", "mul_bf16"},
    {"ceiling_launch", "launches", "launch_s"},
    {"ceiling_host_read", "bytes_smem", "smem"},
    {"ceiling_host_read", "bytes_l2", "l2"},
    {"ceiling_host_read", NULL, "hbm_read"},
    {"ceiling_host_copy", "bytes_smem", "smem"},
    {"ceiling_host_copy", "bytes_l2", "l2"},
    {"ceiling_host_copy", NULL, "hbm_copy"},
    {"ceiling_host_triad", "bytes_smem", "smem"},
    {"ceiling_host_triad", "bytes_l2", "l2"},
    {"ceiling_host_triad", NULL, "hbm_copy"},
    {"ceiling_host_fma", "flop_fp32", "fp32"},
};

static int field_of(const char *key)
{
    for (int i = 0; i < CEILING_COUNT; i++)
        if (strcmp(ceiling_info[i].key, key) == 0)
            return i;
    return -1;
}

static bool usable(const json_t *record, const char *emulated)
{
    return record_is(record, "status", "ok") && record_is(record, "check.status", "ok") &&
           record_is(record, "mode.emulate.requested", emulated) && record_is(record, "mode.fill.requested", "random") &&
           record_time_s(record) > 0;
}

int ceiling_of_record(const json_t *record, double *rate)
{
    return ceiling_of_emulated(record, "none", rate);
}

int ceiling_of_emulated(const json_t *record, const char *device, double *rate)
{
    const char *family = record_string(record, "variant.family");
    if (!family || !usable(record, device))
        return -1;
    const json_t *useful = record_get(record, "work.useful");
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        if (strcmp(family, measures[i].family) != 0)
            continue;
        double work = measures[i].key ? work_number(useful, measures[i].key) : work_hbm_bytes(useful);
        if (!(work > 0))
            continue;
        bool is_time = strcmp(measures[i].ceiling, "launch_s") == 0;
        *rate = is_time ? record_time_s(record) / work : work / record_time_s(record);
        return field_of(measures[i].ceiling);
    }
    return -1;
}

/* The host multiplies BF16 on its FP32 units. */
static void host_tensor(json_t *const *record, size_t count, const char *device, struct ceilings *out)
{
    for (size_t i = 0; i < count; i++) {
        if (device && !record_is(record[i], "device.name", device))
            continue;
        if (record_is(record[i], "device.kind", "host") && isnan(out->tensor_bf16))
            out->tensor_bf16 = out->fp32;
        return;
    }
}

int ceilings_with_evidence(json_t *const *record, size_t count, const char *device, struct ceilings *out,
                           const json_t *from[CEILING_COUNT], struct ridge_error *err)
{
    *out = ceilings_unknown();
    if (from)
        memset(from, 0, CEILING_COUNT * sizeof *from);
    for (size_t i = 0; i < count; i++) {
        if (device && !record_is(record[i], "device.name", device))
            continue;
        double sms = record_number(record[i], "device.sms");
        if (out->sms == 0 && sms > 0)
            out->sms = (int)sms;
        double rate;
        int field = ceiling_of_record(record[i], &rate);
        if (field < 0)
            continue;
        if (!isfinite(rate))
            return ridge_fail(err, RIDGE_INVALID, "record %zu (%s): its rate is not finite", i + 1,
                              record_string(record[i], "variant.family"));
        double *best = ceiling_at(out, field);
        bool better = isnan(*best) || (strcmp(ceiling_info[field].unit, "s") == 0 ? rate < *best : rate > *best);
        if (!better)
            continue;
        *best = rate;
        if (from)
            from[field] = record[i];
    }
    host_tensor(record, count, device, out);
    return RIDGE_OK;
}

int ceilings_from_records(json_t *const *record, size_t count, const char *device, struct ceilings *out,
                          struct ridge_error *err)
{
    return ceilings_with_evidence(record, count, device, out, NULL, err);
}
