/* SPDX-License-Identifier: Apache-2.0 */
/* Checks records against the embedded bench/record.schema.json: the part of JSON Schema 2020-12 which that file uses.
 * A test fails when the file uses more. */
#include "bench/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assets.h"
#include "bench/printable.h"

/* Where in the record the check is: "time.samples_ns[3]". */
struct place {
    char text[256];
    size_t length;
};

static void extend(struct place *at, const char *text)
{
    size_t room = sizeof at->text - 1 - at->length, bytes = strlen(text);
    if (bytes > room)
        bytes = room;
    memcpy(at->text + at->length, text, bytes);
    at->length += bytes;
    at->text[at->length] = '\0';
}

/* Both return what leave() goes back to. */
static size_t enter_key(struct place *at, const char *key)
{
    size_t before = at->length;
    if (before)
        extend(at, ".");
    extend(at, key);
    return before;
}

static size_t enter_index(struct place *at, size_t index)
{
    char text[32];
    size_t before = at->length;
    snprintf(text, sizeof text, "[%zu]", index);
    extend(at, text);
    return before;
}

static void leave(struct place *at, size_t before)
{
    at->length = before;
    at->text[before] = '\0';
}

static bool has_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0 ||
               (strcmp(type, "integer") == 0 && json_real_value(value) == floor(json_real_value(value)));
    case JSON_NULL:
        return strcmp(type, "null") == 0;
    default:
        return strcmp(type, "boolean") == 0;
    }
}

static bool type_allowed(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return has_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (has_type(value, json_string_value(json_array_get(type, i))))
            return true;
    return false;
}

/* JSON text for messages, cut to fit. */
static const char *spelled(const json_t *value, char *buf, size_t bytes)
{
    size_t length = json_dumpb(value, buf, bytes - 1, JSON_ENCODE_ANY | JSON_COMPACT);
    if (length > bytes - 1) {
        strcpy(buf + bytes - 4, "...");
        return buf;
    }
    buf[length] = '\0';
    return buf;
}

/* One value on its way through the schema. */
struct visit {
    const json_t *root;
    struct place at;
    struct ridge_error *err;
};

static int check(struct visit *visit, const json_t *schema, const json_t *value);

static int refuse(struct visit *visit, const json_t *value, const char *rule, const json_t *allowed)
{
    char found[64], wanted[128];
    return ridge_fail(visit->err, RIDGE_INVALID, "key \"%s\" is %s, %s %s",
                      visit->at.length ? visit->at.text : "(the record)", spelled(value, found, sizeof found), rule,
                      spelled(allowed, wanted, sizeof wanted));
}

static int check_reference(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    const char *name = json_string_value(rule) + strlen("#/$defs/");
    return check(visit, json_object_get(json_object_get(visit->root, "$defs"), name), value);
}

static int check_type(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    return type_allowed(rule, value) ? RIDGE_OK : refuse(visit, value, "expected type", rule);
}

static int check_const(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    return json_equal(rule, value) ? RIDGE_OK : refuse(visit, value, "expected", rule);
}

static int check_enum(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    for (size_t i = 0; i < json_array_size(rule); i++)
        if (json_equal(json_array_get(rule, i), value))
            return RIDGE_OK;
    return refuse(visit, value, "expected one of", rule);
}

static int check_minimum(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    if (json_is_number(value) && !(json_number_value(value) >= json_number_value(rule)))
        return refuse(visit, value, "expected at least", rule);
    return RIDGE_OK;
}

static int check_above(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    if (json_is_number(value) && !(json_number_value(value) > json_number_value(rule)))
        return refuse(visit, value, "expected more than", rule);
    return RIDGE_OK;
}

static int check_required(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    for (size_t i = 0; json_is_object(value) && i < json_array_size(rule); i++) {
        const char *key = json_string_value(json_array_get(rule, i));
        if (!json_object_get(value, key)) {
            enter_key(&visit->at, key);
            return ridge_fail(visit->err, RIDGE_INVALID, "missing key \"%s\"", visit->at.text);
        }
    }
    return RIDGE_OK;
}

/* Members of an object against the rule of their name in `named`; those without one against `others`. */
static int check_members(struct visit *visit, const json_t *named, const json_t *others, const json_t *value)
{
    for (void *it = json_object_iter((json_t *)value); it; it = json_object_iter_next((json_t *)value, it)) {
        const json_t *rule = json_object_get(named, json_object_iter_key(it));
        if (!rule == !others) /* exactly one applies */
            continue;
        size_t before = enter_key(&visit->at, json_object_iter_key(it));
        int status = check(visit, rule ? rule : others, json_object_iter_value(it));
        if (status)
            return status;
        leave(&visit->at, before);
    }
    return RIDGE_OK;
}

static int check_properties(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    return check_members(visit, rule, NULL, value);
}

static int check_additional(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    return check_members(visit, json_object_get(schema, "properties"), rule, value);
}

static int check_fewest(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    if (json_is_array(value) && (json_int_t)json_array_size(value) < json_integer_value(rule))
        return refuse(visit, value, "expected a length of at least", rule);
    return RIDGE_OK;
}

static int check_most(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    if (json_is_array(value) && (json_int_t)json_array_size(value) > json_integer_value(rule))
        return refuse(visit, value, "expected a length of at most", rule);
    return RIDGE_OK;
}

static int check_items(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value)
{
    (void)schema;
    for (size_t i = 0; i < json_array_size(value); i++) {
        size_t before = enter_index(&visit->at, i);
        int status = check(visit, rule, json_array_get(value, i));
        if (status)
            return status;
        leave(&visit->at, before);
    }
    return RIDGE_OK;
}

static const struct {
    const char *keyword;
    int (*check)(struct visit *visit, const json_t *rule, const json_t *schema, const json_t *value);
} rules[] = {
    {"type", check_type},         {"properties", check_properties},
    {"required", check_required}, {"$ref", check_reference},
    {"enum", check_enum},         {"const", check_const},
    {"minimum", check_minimum},   {"additionalProperties", check_additional},
    {"items", check_items},       {"minItems", check_fewest},
    {"maxItems", check_most},     {"exclusiveMinimum", check_above},
};

static int check(struct visit *visit, const json_t *schema, const json_t *value)
{
    for (void *it = json_object_iter((json_t *)schema); it; it = json_object_iter_next((json_t *)schema, it)) {
        const char *keyword = json_object_iter_key(it);
        size_t i = 0;
        while (i < sizeof rules / sizeof *rules && strcmp(keyword, rules[i].keyword) != 0)
            i++;
        int status = RIDGE_OK; /* other keywords describe */
        if (i < sizeof rules / sizeof *rules)
            status = rules[i].check(visit, json_object_iter_value(it), schema, value);
        if (status)
            return status;
    }
    return RIDGE_OK;
}

/* Parsed once, kept for the life of the process. */
static const json_t *record_schema(void)
{
    static json_t *schema;
    const struct asset *asset = schema ? NULL : asset_find("bench/record.schema.json");
    if (asset)
        schema = json_loadb(asset->text, asset->bytes, JSON_REJECT_DUPLICATES, NULL);
    return schema;
}

/* What the schema cannot say: rules between fields. */
static int check_together(const json_t *record, struct ridge_error *err)
{
    const json_t *interval = record_get(record, "time.ci95_ns");
    const double low = json_number_value(json_array_get(interval, 0));
    const double high = json_number_value(json_array_get(interval, 1));
    if (low > high)
        return ridge_fail(err, RIDGE_INVALID, "key \"time.ci95_ns\" is [%g,%g], expected the lower end first", low,
                          high);
    if (record_is(record, "status", "ok") && record_is(record, "check.status", "fail"))
        return ridge_fail(err, RIDGE_INVALID, "key \"status\" is \"ok\", but \"check.status\" is \"fail\"");
    return RIDGE_OK;
}

/* Keys are quoted in messages and tables. */
static bool keys_are_printable(const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach((json_t *)value, key, member)
        if (text_has_controls(key) || !keys_are_printable(member))
            return false;
    json_array_foreach(value, i, member)
        if (!keys_are_printable(member))
            return false;
    return true;
}

int record_validate(const json_t *record, struct ridge_error *err)
{
    const json_t *schema = record_schema();
    if (!schema)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "bench/record.schema.json is not in this binary");
    if (!keys_are_printable(record))
        return ridge_fail(err, RIDGE_INVALID, "a key has a control character");
    const char *version = record_string(record, "schema");
    if (version && strcmp(version, RIDGE_RECORD_SCHEMA) != 0)
        return ridge_fail(err, RIDGE_INVALID, "schema \"%.80s\", but this program reads \"%s\"", version,
                          RIDGE_RECORD_SCHEMA);
    struct visit visit = {.root = schema, .err = err};
    int status = check(&visit, schema, record);
    return status ? status : check_together(record, err);
}
