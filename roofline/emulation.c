/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/emulation.h"

#include <math.h>
#include <string.h>

static bool is_emulated(const json_t *record)
{
    return !record_is(record, "mode.emulate.requested", "none");
}

/* Resources that are calibrated, by the ceiling that does it. */
static int resource_of(int field)
{
    const char *key = field < 0 ? "" : ceiling_info[field].key;
    if (strcmp(key, "hbm_read") == 0)
        return RES_HBM;
    if (strcmp(key, "tensor_bf16") == 0)
        return RES_TENSOR_BF16;
    return strcmp(key, "tensor_fp8") == 0 ? RES_TENSOR_FP8 : -1;
}

static bool is_calibrated(int resource)
{
    return resource == RES_HBM || resource == RES_TENSOR_BF16 || resource == RES_TENSOR_FP8;
}

int emulation_ceiling(const struct emulation *emulation, const json_t *record, double *rate, double *specified)
{
    struct ceilings there = emulation->spec.specified;
    int field = ceiling_of_emulated(record, emulation->device, rate);
    if (resource_of(field) < 0)
        return -1;
    *specified = *ceiling_at(&there, field);
    return field;
}

bool emulation_counts(const json_t *record)
{
    return !(record_number(record, "shape.params.n") < (record_is(record, "variant.label", "02_rs") ? 64 : 16));
}

static void calibrate(struct emulation *emulation, const json_t *record)
{
    double rate, specified;
    int resource = resource_of(emulation_ceiling(emulation, record, &rate, &specified));
    if (resource < 0 || !emulation_counts(record))
        return;
    struct emulated_factor *factor = &emulation->factor[resource];
    double ratio = rate / specified;
    factor->high = fmax(factor->high, ratio);
    factor->low = resource == RES_HBM ? factor->high : fmin(factor->low, ratio);
}

int emulation_of(const struct record_list *list, struct emulation *emulation, struct ridge_error *err)
{
    *emulation = (struct emulation){.device = NULL};
    for (int i = 0; i < RES_COUNT; i++)
        emulation->factor[i] = (struct emulated_factor){NAN, NAN};
    for (size_t i = 0; i < list->count; i++) {
        const char *device = record_string(list->record[i], "mode.emulate.requested");
        if (!is_emulated(list->record[i]))
            continue;
        if (emulation->device && strcmp(device, emulation->device) != 0)
            return ridge_fail(err, RIDGE_INVALID, "records emulate both %s and %s", emulation->device, device);
        emulation->device = device;
    }
    if (!emulation->device)
        return ridge_fail(err, RIDGE_INVALID, "no record is emulated: ridge bench --emulate h20 makes them");
    int status = device_spec_builtin(emulation->device, &emulation->spec, err);
    for (size_t i = 0; i < list->count && status == RIDGE_OK; i++)
        calibrate(emulation, list->record[i]);
    return status;
}

struct emulated_factor emulation_interval(const struct emulation *emulation, const json_t *record)
{
    struct emulated_factor interval = {1, 1};
    struct bound bound = record_bound(record, &emulation->spec.specified);
    for (int i = 0; i < RES_COUNT; i++) {
        const struct emulated_factor *factor = &emulation->factor[i];
        if (!is_calibrated(i) || !bound_explains(bound.seconds[i], record_time_s(record)))
            continue;
        if (!(factor->low > 0))
            return (struct emulated_factor){NAN, NAN};
        interval.low = fmin(interval.low, factor->low);
        interval.high = fmax(interval.high, factor->high);
    }
    return interval;
}
