/* SPDX-License-Identifier: Apache-2.0 */
/* Specifications of a device: roofline/devices/<id>.json, dense figures only, each with its source. */
#ifndef RIDGE_DEVICE_FILE_H
#define RIDGE_DEVICE_FILE_H

#include "base/error.h"
#include "roofline/resource.h"

struct device_spec {
    char id[32];   /* "h20" */
    char name[64]; /* "NVIDIA H20 96 GB" */
    int sms;
    int cc;
    double tensor_hz; /* the clock the rated tensor figures assume */
    double max_sm_hz;
    double l2_bytes, memory_bytes;
    struct ceilings specified;
};

/* `id_or_path`: "h20", or a path with '/' or ending in .json. A missing or negative figure is RIDGE_INVALID naming
 * file and key; an unknown id lists those there are. A figure may be null where the file says why ("reason"); its
 * ceiling is then NaN. */
int device_spec_load(const char *id_or_path, struct device_spec *spec, struct ridge_error *err);

/* The same for an id alone, as in mode.emulate of a record, which comes from anywhere and must not name files. */
int device_spec_builtin(const char *id, struct device_spec *spec, struct ridge_error *err);

/* The same from text; `file` is for messages. */
int device_spec_parse(const char *text, const char *file, struct device_spec *spec, struct ridge_error *err);

/* Ids of the built-in device files, in order; NULL after the last. */
const char *device_spec_id(int index);

#endif
