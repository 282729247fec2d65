/* SPDX-License-Identifier: Apache-2.0 */
/* The axes along which a measurement is made. Every one is in the record, as requested and as verified. */
#ifndef RIDGE_MODES_H
#define RIDGE_MODES_H

#include <stdbool.h>

#include "base/error.h"
#include "kernels/kernel.h"

enum cache_state { CACHE_COLD, CACHE_HOT };
enum cold_method { COLD_DIRTY, COLD_CLEAN }; /* memset of several times L2, or a read of as much */
enum launch_mode { LAUNCH_STREAM, LAUNCH_GRAPH };
enum power_mode { POWER_BURST, POWER_STEADY };
enum fill_mode { FILL_RANDOM, FILL_ONES, FILL_ZEROS, FILL_OUTLIERS };
enum emulated_device { EMULATE_NONE, EMULATE_H20 };

struct modes {
    enum cache_state cache;
    /* Per operand, "A=hot,B=cold" (buffer names, case-insensitive); a bit set in hot_mask is a buffer touched
     * after the flush. cache is COLD then. */
    unsigned hot_mask;
    char cache_text[64]; /* as requested: "cold", "hot", "a=hot,b=cold" */
    enum cold_method cold_method;
    enum launch_mode launch;
    enum power_mode power;
    enum fill_mode fill;
    enum emulated_device emulate;
};

#define MODES_DEFAULT {.cache_text = "cold"}

/* Each parses one option value; RIDGE_INVALID names the option, the value and what is allowed. Buffer names of
 * --cache are resolved later, per family. */
int modes_parse_cache(struct modes *modes, const char *text, struct ridge_error *err);
int modes_parse_cold(struct modes *modes, const char *text, struct ridge_error *err);
int modes_parse_launch(struct modes *modes, const char *text, struct ridge_error *err);
int modes_parse_power(struct modes *modes, const char *text, struct ridge_error *err);
int modes_parse_fill(struct modes *modes, const char *text, struct ridge_error *err);
int modes_parse_emulate(struct modes *modes, const char *text, struct ridge_error *err);

/* Sets hot_mask from cache_text for a family; RIDGE_INVALID if a named buffer is not there. */
int modes_resolve(struct modes *modes, const struct ridge_family *family, struct ridge_error *err);

#endif
