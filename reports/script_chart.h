/* SPDX-License-Identifier: Apache-2.0 */
/* Charts that Python draws: matplotlib reads a JSON file that the program writes. */
#ifndef RIDGE_SCRIPT_CHART_H
#define RIDGE_SCRIPT_CHART_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

/* Writes `data` to DIR/<name>.json and the asset reports/<script>.py beside it, and runs the script on the data.
 * Without an interpreter that imports matplotlib, or when drawing fails, `note` (note_bytes long) says so and how to
 * draw `what` ("bound charts") later; that is not an error. `data` is borrowed. */
int script_chart_draw(const char *dir, const char *name, const char *script, const char *what, const json_t *data,
                      char *note, size_t note_bytes, struct ridge_error *err);

/* First of $RIDGE_PYTHON, python3 on the path, /usr/bin/python3 and python3.14 down to python3.9 that imports
 * matplotlib; NULL if none does. */
const char *python_with_matplotlib(void);

#endif
