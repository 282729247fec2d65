/* SPDX-License-Identifier: Apache-2.0 */
/* What the reading commands share: record files as arguments, a folder as output. */
#ifndef RIDGE_INPUTS_H
#define RIDGE_INPUTS_H

#include <argp.h>

#include "base/error.h"
#include "bench/record.h"

struct inputs {
    char **path; /* of argv */
    int paths;
};

/* For a command's parser: takes all arguments as record files, and misses them where there are none. */
error_t inputs_parse(int key, struct argp_state *state, struct inputs *inputs);

/* For the parser of a command that takes options only: names an argument that is too many. */
error_t inputs_none(int key, const char *arg, struct argp_state *state);

/* The records of all files; RIDGE_INVALID where there is not one. */
int inputs_read(const struct inputs *inputs, struct record_list *list, struct ridge_error *err);

/* The folder of --out, made with those above it where they are missing. */
int inputs_make_folder(const char *path, struct ridge_error *err);

#endif
