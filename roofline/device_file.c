/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/device_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assets.h"

static const char folder[] = "roofline/devices/";

/* A parsed file and its name for messages; the first fault stops all further reading. */
struct reader {
    const char *file;
    const json_t *figures, *sources;
    struct ridge_error *err;
    int status;
};

static double fault(struct reader *reader, const char *key, const char *what)
{
    if (reader->status == RIDGE_OK)
        reader->status = ridge_fail(reader->err, RIDGE_INVALID, "%s: figures.%s: %s", reader->file, key, what);
    return NAN;
}

static bool sourced(const struct reader *reader, const json_t *figure)
{
    const json_t *source = json_object_get(figure, "source"), *key;
    size_t i;
    if (json_array_size(source) == 0)
        return false;
    json_array_foreach(source, i, key)
    {
        if (!json_is_string(key) || !json_is_string(json_object_get(reader->sources, json_string_value(key))))
            return false;
    }
    return true;
}

static double figure(struct reader *reader, const char *key, bool may_be_null)
{
    const json_t *figure = json_object_get(reader->figures, key);
    const json_t *value = json_object_get(figure, "value");
    if (reader->status != RIDGE_OK)
        return NAN;
    if (!value)
        return fault(reader, key, "missing");
    if (json_is_null(value)) {
        if (!may_be_null)
            return fault(reader, key, "null, but every device has one");
        return json_is_string(json_object_get(figure, "reason")) ? NAN : fault(reader, key, "null without a reason");
    }
    if (!json_is_number(value))
        return fault(reader, key, "not a number");
    if (!(json_number_value(value) > 0))
        return fault(reader, key, "not positive");
    const char *confidence = json_string_value(json_object_get(figure, "confidence"));
    if (!confidence || strlen(confidence) != 1 || !strchr("DTVR", *confidence))
        return fault(reader, key, "confidence is not one of D T V R");
    if (!sourced(reader, figure))
        return fault(reader, key, "its source is not in the list of sources");
    return json_number_value(value);
}

/* A figure per clock and SM, turned into one per second at the clock it names. */
static double per_second(struct reader *reader, const char *key, const struct device_spec *spec)
{
    double value = figure(reader, key, true);
    if (isnan(value))
        return NAN;
    const char *at = json_string_value(json_object_get(json_object_get(reader->figures, key), "at"));
    if (at && strcmp(at, "max_sm_hz") == 0)
        return value * spec->sms * spec->max_sm_hz;
    if (at && strcmp(at, "tensor_hz") == 0)
        return value * spec->sms * spec->tensor_hz;
    return fault(reader, key, "\"at\" names no clock (max_sm_hz or tensor_hz)");
}

static void read_figures(struct reader *reader, struct device_spec *spec)
{
    struct ceilings *c = &spec->specified;
    *c = ceilings_unknown();
    double sms = figure(reader, "sms", false), cc = figure(reader, "cc", false);
    spec->max_sm_hz = figure(reader, "max_sm_hz", false);
    spec->tensor_hz = figure(reader, "tensor_hz", false);
    spec->l2_bytes = figure(reader, "l2_bytes", false);
    spec->memory_bytes = figure(reader, "memory_bytes", false);
    if (reader->status != RIDGE_OK)
        return;
    if (sms != floor(sms) || sms > 100000)
        fault(reader, "sms", "not a number of SMs");
    if (cc != floor(cc) || cc > 10000)
        fault(reader, "cc", "not 10 * major + minor");
    if (reader->status != RIDGE_OK)
        return;
    spec->sms = c->sms = (int)sms;
    spec->cc = (int)cc;
    c->hbm_read = c->hbm_copy = c->hbm_write = figure(reader, "hbm_bytes_per_s", false);
    c->l2 = per_second(reader, "l2_bytes_per_clk_sm", spec);
    c->smem = per_second(reader, "smem_bytes_per_clk_sm", spec);
    c->dsmem = per_second(reader, "dsmem_bytes_per_clk_sm", spec);
    c->tensor_bf16 = figure(reader, "tensor_bf16_flop_per_s", true);
    c->tensor_fp8 = figure(reader, "tensor_fp8_flop_per_s", true);
    c->fp32 = figure(reader, "fp32_flop_per_s", false);
    c->exp = per_second(reader, "exp_per_clk_sm", spec);
    c->cvt_e4m3_f16 = per_second(reader, "cvt_e4m3_f16_per_clk_sm", spec);
    c->cvt_f16_f32 = per_second(reader, "cvt_f16_f32_per_clk_sm", spec);
    c->cvt_f32_bf16 = per_second(reader, "cvt_f32_bf16_per_clk_sm", spec);
    c->mul_bf16 = per_second(reader, "mul_bf16_per_clk_sm", spec);
    c->launch_s = figure(reader, "launch_s", true);
}

int device_spec_parse(const char *text, const char *file, struct device_spec *spec, struct ridge_error *err)
{
    *spec = (struct device_spec){.specified = ceilings_unknown()};
    json_error_t at;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &at);
    if (!root)
        return ridge_fail(err, RIDGE_INVALID, "%s:%d: %s", file, at.line, at.text);

    const char *id = json_string_value(json_object_get(root, "id"));
    const char *name = json_string_value(json_object_get(root, "name"));
    struct reader reader = {
        .file = file,
        .err = err,
        .status = RIDGE_OK,
        .figures = json_object_get(root, "figures"),
        .sources = json_object_get(root, "sources"),
    };
    if (!id || !*id || strlen(id) >= sizeof spec->id ||
        strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != strlen(id))
        reader.status = ridge_fail(err, RIDGE_INVALID, "%s: id: missing, or not of lower case, digits and -_.", file);
    else if (!name || !*name || strlen(name) >= sizeof spec->name)
        reader.status = ridge_fail(err, RIDGE_INVALID, "%s: name: missing or too long", file);
    else {
        strcpy(spec->id, id);
        strcpy(spec->name, name);
        read_figures(&reader, spec);
    }
    json_decref(root);
    return reader.status;
}

const char *device_spec_id(int index)
{
    enum { MAX_IDS = 64 };
    static char id[MAX_IDS][32];
    static int ids = -1;
    if (ids < 0) {
        ids = 0;
        for (size_t i = 0; i < ridge_asset_count && ids < MAX_IDS; i++) {
            const char *path = ridge_assets[i].path;
            if (strncmp(path, folder, sizeof folder - 1) != 0)
                continue;
            size_t length = strcspn(path + sizeof folder - 1, ".");
            if (length < sizeof id[0])
                snprintf(id[ids++], sizeof id[0], "%.*s", (int)length, path + sizeof folder - 1);
        }
    }
    return index >= 0 && index < ids ? id[index] : NULL;
}

static int unknown_id(const char *id, const char *else_what, struct ridge_error *err)
{
    char known[256] = "";
    for (int i = 0; device_spec_id(i); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", device_spec_id(i));
    }
    return ridge_fail(err, RIDGE_INVALID, "unknown device '%.64s'; known are %s%s", id, known, else_what);
}

static int load_path(const char *path, struct device_spec *spec, struct ridge_error *err)
{
    enum { LARGEST = 1 << 20 };
    int status = RIDGE_INVALID;
    char *text = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        return ridge_fail(err, RIDGE_INVALID, "%s: %s", path, strerror(errno));
    text = malloc(LARGEST + 1);
    if (!text) {
        ridge_fail(err, RIDGE_INVALID, "%s: out of memory", path);
        goto out;
    }
    size_t size = fread(text, 1, LARGEST + 1, file);
    if (ferror(file) || size > LARGEST) {
        ridge_fail(err, RIDGE_INVALID, "%s: %s", path, ferror(file) ? strerror(errno) : "larger than a device file");
        goto out;
    }
    text[size] = '\0';
    status = device_spec_parse(text, path, spec, err);
out:
    free(text);
    fclose(file);
    return status;
}

static int load_id(const char *id, const char *else_what, struct device_spec *spec, struct ridge_error *err)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s.json", folder, id);
    const struct asset *asset = asset_find(path);
    return asset ? device_spec_parse(asset->text, path, spec, err) : unknown_id(id, else_what, err);
}

int device_spec_builtin(const char *id, struct device_spec *spec, struct ridge_error *err)
{
    return load_id(id, "", spec, err);
}

int device_spec_load(const char *id_or_path, struct device_spec *spec, struct ridge_error *err)
{
    size_t length = strlen(id_or_path);
    if (strchr(id_or_path, '/') || (length > 5 && strcmp(id_or_path + length - 5, ".json") == 0))
        return load_path(id_or_path, spec, err);
    return load_id(id_or_path, ", or a path to a device file", spec, err);
}
