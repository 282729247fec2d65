/* SPDX-License-Identifier: Apache-2.0 */
/* Checks records against the embedded bench/record.schema.json: the part of JSON Schema 2020-12 which that file
 * uses ($ref into $defs, type, const, enum, minimum, required, properties, additionalProperties, items, minItems,
 * maxItems). */
#include "bench/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assets.h"

/* Where in the record the check is: "time.samples_ns[3]". */
struct place {
    char text[256];
    size_t length;
};

static size_t enter_key(struct place *at, const char *key)
{
    size_t before = at->length;
    int added = snprintf(at->text + before, sizeof at->text - before, "%s%s", before ? "." : "", key);
    at->length = before + (size_t)added < sizeof at->text ? before + (size_t)added : sizeof at->text - 1;
    return before;
}

static size_t enter_index(struct place *at, size_t index)
{
    size_t before = at->length;
    int added = snprintf(at->text + before, sizeof at->text - before, "[%zu]", index);
    at->length = before + (size_t)added < sizeof at->text ? before + (size_t)added : sizeof at->text - 1;
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

/* An allowed type, and JSON text of one value or of a list, for messages. */
static bool type_allowed(const json_t *type, const json_t *value)
{
    if (json_is_string(type))
        return has_type(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++)
        if (has_type(value, json_string_value(json_array_get(type, i))))
            return true;
    return false;
}

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

static int check(const json_t *root, const json_t *schema, const json_t *value, struct place *at,
                 struct ridge_error *err);

static int refuse(const struct place *at, const json_t *value, const char *rule, const json_t *allowed,
                  struct ridge_error *err)
{
    char found[64], wanted[128];
    return ridge_fail(err, RIDGE_INVALID, "key \"%s\" is %s, %s %s", at->length ? at->text : "(the record)",
                      spelled(value, found, sizeof found), rule, spelled(allowed, wanted, sizeof wanted));
}

static int check_value(const json_t *schema, const json_t *value, const struct place *at, struct ridge_error *err)
{
    const json_t *rule = json_object_get(schema, "type");
    if (rule && !type_allowed(rule, value))
        return refuse(at, value, "expected type", rule, err);
    rule = json_object_get(schema, "const");
    if (rule && !json_equal(rule, value))
        return refuse(at, value, "expected", rule, err);
    rule = json_object_get(schema, "enum");
    if (rule) {
        bool found = false;
        for (size_t i = 0; i < json_array_size(rule); i++)
            found = found || json_equal(json_array_get(rule, i), value);
        if (!found)
            return refuse(at, value, "expected one of", rule, err);
    }
    rule = json_object_get(schema, "minimum");
    if (rule && json_is_number(value) && !(json_number_value(value) >= json_number_value(rule)))
        return refuse(at, value, "expected at least", rule, err);
    return RIDGE_OK;
}

static int check_object(const json_t *root, const json_t *schema, const json_t *value, struct place *at,
                        struct ridge_error *err)
{
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        if (!json_object_get(value, key)) {
            enter_key(at, key);
            return ridge_fail(err, RIDGE_INVALID, "missing key \"%s\"", at->text);
        }
    }
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    if (!properties && !others)
        return RIDGE_OK;
    for (void *it = json_object_iter((json_t *)value); it; it = json_object_iter_next((json_t *)value, it)) {
        const json_t *rule = json_object_get(properties, json_object_iter_key(it));
        if (!rule)
            rule = others;
        if (!rule)
            continue;
        size_t before = enter_key(at, json_object_iter_key(it));
        int status = check(root, rule, json_object_iter_value(it), at, err);
        if (status)
            return status;
        leave(at, before);
    }
    return RIDGE_OK;
}

static int check_array(const json_t *root, const json_t *schema, const json_t *value, struct place *at,
                       struct ridge_error *err)
{
    const json_t *fewest = json_object_get(schema, "minItems"), *most = json_object_get(schema, "maxItems");
    if (fewest && (json_int_t)json_array_size(value) < json_integer_value(fewest))
        return refuse(at, value, "expected a length of at least", fewest, err);
    if (most && (json_int_t)json_array_size(value) > json_integer_value(most))
        return refuse(at, value, "expected a length of at most", most, err);
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        size_t before = enter_index(at, i);
        int status = check(root, items, json_array_get(value, i), at, err);
        if (status)
            return status;
        leave(at, before);
    }
    return RIDGE_OK;
}

static int check(const json_t *root, const json_t *schema, const json_t *value, struct place *at,
                 struct ridge_error *err)
{
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference && strncmp(reference, "#/$defs/", 8) == 0)
        schema = json_object_get(json_object_get(root, "$defs"), reference + 8);
    int status = check_value(schema, value, at, err);
    if (!status && json_is_object(value))
        status = check_object(root, schema, value, at, err);
    if (!status && json_is_array(value))
        status = check_array(root, schema, value, at, err);
    return status;
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

int record_validate(const json_t *record, struct ridge_error *err)
{
    const json_t *schema = record_schema();
    if (!schema)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "bench/record.schema.json is not in this binary");
    const char *version = record_string(record, "schema");
    if (version && strcmp(version, RIDGE_RECORD_SCHEMA) != 0)
        return ridge_fail(err, RIDGE_INVALID, "schema \"%.80s\", but this program reads \"%s\"", version,
                          RIDGE_RECORD_SCHEMA);
    struct place at = {.length = 0};
    return check(schema, schema, record, &at, err);
}
