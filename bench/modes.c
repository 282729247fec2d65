/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/modes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Index of `text` among `count` names, or -1 with the message. */
static int choose(const char *option, const char *text, const char *const *name, int count, struct ridge_error *err)
{
    char allowed[128] = "";
    for (int i = 0; i < count; i++) {
        if (strcmp(text, name[i]) == 0)
            return i;
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", name[i]);
    }
    ridge_fail(err, RIDGE_INVALID, "%s %.64s: expected %s", option, text, allowed);
    return -1;
}

/* The next "name=state" of a list into name; the part's length, or 0 if it is not one. */
static size_t operand(const char *part, char *name, size_t bytes, bool *hot)
{
    size_t length = strcspn(part, ","), name_bytes = strcspn(part, "=,");
    if (name_bytes == 0 || name_bytes >= bytes || part[name_bytes] != '=')
        return 0;
    snprintf(name, bytes, "%.*s", (int)name_bytes, part);
    const char *state = part + name_bytes + 1;
    size_t state_bytes = length - name_bytes - 1;
    *hot = state_bytes == 3 && strncasecmp(state, "hot", 3) == 0;
    return *hot || (state_bytes == 4 && strncasecmp(state, "cold", 4) == 0) ? length : 0;
}

/* Whether `name` is an operand of one of the parts before `end`. */
static bool named_before(const char *text, const char *end, const char *name)
{
    char other[64];
    bool hot;
    for (const char *part = text; part < end;) {
        size_t length = operand(part, other, sizeof other, &hot);
        if (strcasecmp(other, name) == 0)
            return true;
        part += length + 1;
    }
    return false;
}

int modes_parse_cache(struct modes *modes, const char *text, struct ridge_error *err)
{
    char name[sizeof modes->cache_text];
    bool hot, single = strcmp(text, "cold") == 0 || strcmp(text, "hot") == 0;
    if (strlen(text) >= sizeof modes->cache_text)
        return ridge_fail(err, RIDGE_INVALID, "--cache %.40s...: longer than %zu characters", text,
                          sizeof modes->cache_text - 1);
    for (const char *part = single ? "" : text; !single; part++) {
        size_t length = operand(part, name, sizeof name, &hot);
        if (!length)
            return ridge_fail(err, RIDGE_INVALID, "--cache %s: expected cold, hot, or operands as in a=hot,b=cold",
                              text);
        if (named_before(text, part, name))
            return ridge_fail(err, RIDGE_INVALID, "--cache %s: operand \"%s\" is given twice", text, name);
        part += length;
        if (!*part)
            break;
    }
    modes->cache = strcmp(text, "hot") == 0 ? CACHE_HOT : CACHE_COLD;
    modes->hot_mask = 0;
    for (size_t i = 0; i <= strlen(text); i++) /* names are case-insensitive: one spelling for one request */
        modes->cache_text[i] = (char)tolower((unsigned char)text[i]);
    return RIDGE_OK;
}

int modes_resolve(struct modes *modes, const struct ridge_family *family, struct ridge_error *err)
{
    char name[sizeof modes->cache_text], names[160] = "";
    bool hot;
    modes->hot_mask = 0;
    if (!strchr(modes->cache_text, '='))
        return RIDGE_OK;
    for (const char *part = modes->cache_text; *part;) {
        part += operand(part, name, sizeof name, &hot);
        part += *part == ',';
        int i = 0;
        while (i < family->buffers && strcasecmp(family->buffer[i].name, name) != 0)
            i++;
        if (i == family->buffers) {
            for (i = 0; i < family->buffers; i++) {
                size_t used = strlen(names);
                snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "", family->buffer[i].name);
            }
            return ridge_fail(err, RIDGE_INVALID, "--cache %s: no operand \"%s\"; the operands are %s",
                              modes->cache_text, name, names);
        }
        if (hot)
            modes->hot_mask |= 1u << i;
    }
    return RIDGE_OK;
}

int modes_parse_cold(struct modes *modes, const char *text, struct ridge_error *err)
{
    int i = choose("--cold", text, (const char *const[]){[COLD_DIRTY] = "dirty", [COLD_CLEAN] = "clean"}, 2, err);
    if (i < 0)
        return RIDGE_INVALID;
    modes->cold_method = (enum cold_method)i;
    return RIDGE_OK;
}

int modes_parse_launch(struct modes *modes, const char *text, struct ridge_error *err)
{
    int i =
        choose("--launch", text, (const char *const[]){[LAUNCH_STREAM] = "stream", [LAUNCH_GRAPH] = "graph"}, 2, err);
    if (i < 0)
        return RIDGE_INVALID;
    modes->launch = (enum launch_mode)i;
    return RIDGE_OK;
}

int modes_parse_power(struct modes *modes, const char *text, struct ridge_error *err)
{
    int i = choose("--power", text, (const char *const[]){[POWER_BURST] = "burst", [POWER_STEADY] = "steady"}, 2, err);
    if (i < 0)
        return RIDGE_INVALID;
    modes->power = (enum power_mode)i;
    return RIDGE_OK;
}

int modes_parse_fill(struct modes *modes, const char *text, struct ridge_error *err)
{
    static const char *const name[] = {[FILL_RANDOM] = "random", [FILL_ONES] = "ones", [FILL_ZEROS] = "zeros",
                                       [FILL_OUTLIERS] = "outliers"};
    int i = choose("--fill", text, name, 4, err);
    if (i < 0)
        return RIDGE_INVALID;
    modes->fill = (enum fill_mode)i;
    return RIDGE_OK;
}

int modes_parse_emulate(struct modes *modes, const char *text, struct ridge_error *err)
{
    int i = choose("--emulate", text, (const char *const[]){[EMULATE_NONE] = "none", [EMULATE_H20] = "h20"}, 2, err);
    if (i < 0)
        return RIDGE_INVALID;
    modes->emulate = (enum emulated_device)i;
    return RIDGE_OK;
}
