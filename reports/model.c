/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roofline/device_file.h"

/* Measured ceilings come from the same session and repeat within about one percent. */
static const double above_roof_margin = 1.02;

const struct ceiling_field ceiling_field[CEILING_FIELDS] = {
#define FIELD(name, label, unit) {label, unit, offsetof(struct ceilings, name)}
    FIELD(hbm_read, "HBM read", "B/s"),
    FIELD(hbm_copy, "HBM copy (read + written)", "B/s"),
    FIELD(hbm_write, "HBM write", "B/s"),
    FIELD(l2, "L2 read", "B/s"),
    FIELD(smem, "shared memory read", "B/s"),
    FIELD(dsmem, "distributed shared memory read", "B/s"),
    FIELD(tensor_bf16, "tensor cores BF16", "FLOP/s"),
    FIELD(tensor_fp8, "tensor cores FP8", "FLOP/s"),
    FIELD(fp32, "FP32 FMA", "FLOP/s"),
    FIELD(exp, "exponentials", "/s"),
    FIELD(cvt_e4m3_f16, "conversion e4m3 to f16", "/s"),
    FIELD(cvt_f16_f32, "conversion f16 to f32", "/s"),
    FIELD(cvt_f32_bf16, "conversion f32 to bf16", "/s"),
    FIELD(mul_bf16, "multiply bf16", "/s"),
#undef FIELD
};

double ceiling_value(const struct ceilings *ceilings, size_t field)
{
    return *(const double *)((const char *)ceilings + ceiling_field[field].offset);
}

double report_work(const json_t *record, const char *which, const char *key)
{
    const json_t *work = json_object_get(json_object_get(record, "work"), which);
    const json_t *value = json_object_get(work, key);
    return json_is_number(value) ? json_number_value(value) : 0.0;
}

double report_rate(const struct report_row *row, const char **unit)
{
    static const struct {
        const char *key, *unit;
    } keys[] = {
        {"flop_bf16", "FLOP/s"},  {"flop_fp8", "FLOP/s"}, {"flop_fp32", "FLOP/s"}, {"exp", "/s"},
        {"cvt_e4m3_f16", "/s"},   {"cvt_f16_f32", "/s"},  {"cvt_f32_bf16", "/s"},  {"mul_bf16", "/s"},
        {"bytes_dsmem", "B/s"},   {"bytes_smem", "B/s"},  {"bytes_l2", "B/s"},     {"launches", "launches/s"},
    };
    *unit = "B/s";
    double hbm = report_work(row->record, "useful", "bytes_hbm_read") +
                 report_work(row->record, "useful", "bytes_hbm_write");
    double work = hbm;
    for (size_t i = 0; hbm <= 0.0 && i < sizeof keys / sizeof *keys; i++) {
        work = report_work(row->record, "useful", keys[i].key);
        *unit = keys[i].unit;
        if (work > 0.0)
            break;
    }
    return work > 0.0 ? work / (row->time_ns * 1e-9) : NAN;
}

double report_ratio(const struct report_row *base, const struct report_row *row)
{
    if (base->state != ROW_OK || row->state != ROW_OK)
        return NAN;
    double a = record_number(base->record, "time.kernel_median_ns");
    double b = record_number(row->record, "time.kernel_median_ns");
    if (!(a > 0.0 && b > 0.0)) {
        a = record_number(base->record, "time.median_ns");
        b = record_number(row->record, "time.median_ns");
    }
    return a > 0.0 && b > 0.0 ? a / b : NAN;
}

bool report_above_roof(const struct report_row *row)
{
    return row->state == ROW_OK && fmax(row->roof_share, row->useful_share) > above_roof_margin;
}

static char *mode_text(const json_t *record)
{
    static const char *const axes[] = {"cache", "launch", "power", "fill"};
    char text[256] = "", path[64];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "mode.%s.requested", axes[i]);
        const char *value = record_string(record, path);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? "/" : "", value ? value : "?");
    }
    const char *emulate = record_string(record, "mode.emulate.requested");
    size_t used = strlen(text);
    if (record_is(record, "mode.cache.method", "clean"))
        used += (size_t)snprintf(text + used, sizeof text - used, "/clean");
    if (emulate && strcmp(emulate, "none") != 0)
        snprintf(text + used, sizeof text - used, "/emulate=%s", emulate);
    return strdup(text);
}

static void read_time(struct report_row *row)
{
    const json_t *r = row->record;
    double median = record_number(r, "time.median_ns"), kernel = record_number(r, "time.kernel_median_ns");
    row->time_ns = kernel > 0.0 ? kernel : median;
    row->clock = kernel > 0.0 ? "kernel" : record_string(r, "time.clock");
    const json_t *ci = record_get(r, "time.ci95_ns");
    double low = json_is_number(json_array_get(ci, 0)) ? json_number_value(json_array_get(ci, 0)) : NAN;
    double high = json_is_number(json_array_get(ci, 1)) ? json_number_value(json_array_get(ci, 1)) : NAN;
    row->spread = (high - low) / 2.0 / median;
    if (isnan(row->spread))
        row->spread = record_number(r, "time.mad_ns") / median;
    double quantum = record_number(r, "device.timer.event_quantum_ns");
    if (!(row->time_ns > 0.0))
        row->state = ROW_UNTIMED;
    else if (row->time_ns < quantum)
        row->state = ROW_BELOW_QUANTUM;
}

static void read_row(struct report_row *row, const json_t *record)
{
    *row = (struct report_row){.record = record, .step = -1};
    row->family = record_string(record, "variant.family");
    row->label = record_string(record, "variant.label");
    row->shape = record_string(record, "shape.name");
    row->mode = mode_text(record);
    const char *digits = row->label ? row->label : "";
    row->host_ladder = *digits == 'h';
    digits += row->host_ladder;
    if (isdigit((unsigned char)*digits))
        row->step = atoi(digits);
    row->vendor = row->step >= 90;
    row->ladder_break = json_is_true(record_get(record, "variant.ladder_break"));
    row->time_ns = row->spread = row->flop_s = row->byte_s = NAN;
    row->roof_share = row->useful_share = row->speedup = row->vendor_share = NAN;
    if (record_is(record, "status", "ok"))
        read_time(row);
    else
        row->state = record_is(record, "status", "skip") ? ROW_SKIP : ROW_FAIL;
}

static void derive_row(struct report_row *row, const struct ceilings *ceilings)
{
    row->issued = bound_of(record_get(row->record, "work.issued"), ceilings);
    row->useful = bound_of(record_get(row->record, "work.useful"), ceilings);
    if (row->state != ROW_OK)
        return;
    double seconds = row->time_ns * 1e-9;
    double flop = report_work(row->record, "useful", "flop_bf16") + report_work(row->record, "useful", "flop_fp8") +
                  report_work(row->record, "useful", "flop_fp32");
    double bytes = report_work(row->record, "useful", "bytes_hbm_read") +
                   report_work(row->record, "useful", "bytes_hbm_write");
    row->flop_s = flop > 0.0 ? flop / seconds : NAN;
    row->byte_s = bytes > 0.0 ? bytes / seconds : NAN;
    row->roof_share = row->issued.floor_s > 0.0 ? row->issued.floor_s / seconds : NAN;
    row->useful_share = row->useful.floor_s > 0.0 ? row->useful.floor_s / seconds : NAN;
}

size_t report_group_end(const struct report_family *family, size_t begin)
{
    size_t end = begin;
    while (end < family->rows && strcmp(family->row[end].shape, family->row[begin].shape) == 0 &&
           strcmp(family->row[end].mode, family->row[begin].mode) == 0)
        end++;
    return end;
}

/* Ratios inside one group; rows are in label order. */
static void derive_group(struct report_row *row, size_t rows)
{
    const struct report_row *library[2] = {NULL, NULL};
    for (size_t i = 0; i < rows; i++) {
        const struct report_row **best = &library[row[i].host_ladder];
        if (row[i].vendor && row[i].state == ROW_OK && (!*best || report_ratio(*best, &row[i]) > 1.0))
            *best = &row[i];
    }
    const struct report_row *before[2] = {NULL, NULL};
    for (size_t i = 0; i < rows; i++) {
        struct report_row *r = &row[i];
        r->library = library[r->host_ladder];
        if (r->library)
            r->vendor_share = report_ratio(r->library, r);
        if (r->vendor || r->ladder_break || r->step < 0 || r->state != ROW_OK)
            continue;
        r->over = before[r->host_ladder];
        if (r->over)
            r->speedup = report_ratio(r->over, r);
        before[r->host_ladder] = r;
    }
}

struct sort_key {
    size_t device, shape, source;
    struct report_row row;
};

static int ceiling_family(const char *family)
{
    return strncmp(family, "ceiling_", 8) == 0;
}

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    int order = ceiling_family(a->row.family) - ceiling_family(b->row.family);
    if (!order)
        order = strcmp(a->row.family, b->row.family);
    if (!order)
        order = (a->shape > b->shape) - (a->shape < b->shape);
    if (!order)
        order = strcmp(a->row.mode, b->row.mode);
    if (!order)
        order = strcmp(a->row.label, b->row.label);
    return order ? order : (a->source > b->source) - (a->source < b->source);
}

static bool same_key(const struct sort_key *a, const struct sort_key *b)
{
    return a->device == b->device && strcmp(a->row.family, b->row.family) == 0 && a->shape == b->shape &&
           strcmp(a->row.mode, b->row.mode) == 0 && strcmp(a->row.label, b->row.label) == 0;
}

static size_t find_device(struct report *report, const json_t *record)
{
    const char *name = record_string(record, "device.name");
    for (size_t i = 0; i < report->devices; i++)
        if (strcmp(report->device[i].name, name) == 0)
            return i;
    report->device[report->devices] = (struct report_device){
        .name = name,
        .profile = record_string(record, "device.profile"),
        .driver = record_string(record, "device.driver"),
        .cuda = record_string(record, "device.cuda"),
        .uuid = record_string(record, "device.uuid"),
        .host = record_is(record, "device.kind", "host"),
    };
    return report->devices++;
}

/* Shapes keep the order in which they were measured. */
static void rank_shapes(struct sort_key *key, size_t count)
{
    json_t *first = json_object();
    for (size_t i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%zu %s %s", key[i].device, key[i].row.family, key[i].row.shape);
        json_t *rank = json_object_get(first, name);
        if (!rank) {
            rank = json_integer((json_int_t)i);
            json_object_set_new(first, name, rank);
        }
        key[i].shape = (size_t)json_integer_value(rank);
    }
    json_decref(first);
}

static struct ceilings unknown_ceilings(void)
{
    struct ceilings none = {.launch_s = NAN};
    for (size_t i = 0; i < CEILING_FIELDS; i++)
        *(double *)((char *)&none + ceiling_field[i].offset) = NAN;
    return none;
}

static int find_ceilings(struct report *report, struct report_device *device, const char *device_id,
                         struct ridge_error *err)
{
    device->specified = unknown_ceilings();
    int status = ceilings_from_records(report->list->record, report->list->count, device->name, &device->measured, err);
    if (status)
        return status;
    if (!device->host) {
        const char *id = device_id ? device_id : device->profile;
        struct device_spec spec;
        struct ridge_error why = {""};
        if (!id || !*id)
            snprintf(device->spec_note, sizeof device->spec_note, "no device file matches this device");
        else if (device_spec_load(id, &spec, &why) == RIDGE_OK) {
            device->specified = spec.specified;
            snprintf(device->spec_name, sizeof device->spec_name, "%s", spec.name);
        } else if (device_id) {
            return ridge_fail(err, RIDGE_INVALID, "--device %s: %s", device_id, why.text);
        } else {
            snprintf(device->spec_note, sizeof device->spec_note, "%s", why.text);
        }
    }
    device->merged = ceilings_merge(&device->measured, &device->specified);
    return RIDGE_OK;
}

static void group_families(struct report *report, const struct sort_key *key)
{
    for (size_t i = 0; i < report->rows; i++) {
        struct report_device *device = &report->device[key[i].device];
        struct report_family *last = report->families ? &report->family[report->families - 1] : NULL;
        bool same = i > 0 && key[i].device == key[i - 1].device && strcmp(last->name, key[i].row.family) == 0;
        if (!same) {
            last = &report->family[report->families++];
            *last = (struct report_family){
                .name = key[i].row.family, .ceiling = ceiling_family(key[i].row.family), .row = &report->row[i]};
            if (!device->families)
                device->family = last;
            device->families++;
        }
        report->row[i] = key[i].row;
        last->rows++;
    }
}

static void derive_family(const struct report_family *family, const struct ceilings *ceilings)
{
    for (size_t i = 0; i < family->rows; i++)
        derive_row(&family->row[i], ceilings);
    for (size_t begin = 0, end; begin < family->rows; begin = end) {
        end = report_group_end(family, begin);
        derive_group(&family->row[begin], end - begin);
    }
}

/* Fills and sorts the keys; of several records of one key the last counts. */
static void sort_rows(struct report *report, struct sort_key *key)
{
    size_t count = report->list->count;
    for (size_t i = 0; i < count; i++) {
        key[i].source = i;
        key[i].device = find_device(report, report->list->record[i]);
        read_row(&key[i].row, report->list->record[i]);
    }
    rank_shapes(key, count);
    qsort(key, count, sizeof *key, compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && same_key(&key[i], &key[i + 1])) {
            free(key[i].row.mode);
            report->superseded++;
        } else {
            key[report->rows++] = key[i];
        }
    }
}

int report_build(struct report *report, struct record_list *list, const char *device_id, struct ridge_error *err)
{
    int status = RIDGE_OK;
    *report = (struct report){.list = list};
    size_t room = list->count ? list->count : 1;
    struct sort_key *key = calloc(room, sizeof *key);
    report->row = calloc(room, sizeof *report->row);
    report->family = calloc(room, sizeof *report->family);
    report->device = calloc(room, sizeof *report->device);
    if (!key || !report->row || !report->family || !report->device) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "out of memory for a report of %zu records", list->count);
        goto out;
    }
    sort_rows(report, key);
    group_families(report, key);
    for (size_t d = 0; d < report->devices && !status; d++) {
        status = find_ceilings(report, &report->device[d], device_id, err);
        for (size_t f = 0; f < report->device[d].families && !status; f++)
            derive_family(&report->device[d].family[f], &report->device[d].merged);
    }
out:
    free(key);
    if (status)
        report_free(report);
    return status;
}

void report_free(struct report *report)
{
    for (size_t i = 0; i < report->rows; i++)
        free(report->row[i].mode);
    free(report->row);
    free(report->family);
    free(report->device);
    *report = (struct report){0};
}
