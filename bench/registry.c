/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/registry.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128 };

void registry_name(const struct ridge_entry *entry, char *buf, size_t bytes)
{
    snprintf(buf, bytes, "%s_%s", entry->family, entry->label);
}

bool registry_match(const struct ridge_entry *entry, const char *family_glob, const char *variant_glob)
{
    char name[NAME_BYTES];
    registry_name(entry, name, sizeof name);
    if (family_glob && fnmatch(family_glob, entry->family, 0) != 0)
        return false;
    return !variant_glob || fnmatch(variant_glob, entry->label, 0) == 0 || fnmatch(variant_glob, name, 0) == 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct ridge_entry *x = *(const struct ridge_entry *const *)a, *y = *(const struct ridge_entry *const *)b;
    int order = strcmp(x->family, y->family);
    return order ? order : strcmp(x->label, y->label);
}

static const struct ridge_entry *find_family(const struct registry *registry, const char *family)
{
    for (int i = 0; i < registry->count; i++)
        if (strcmp(registry->entry[i]->family, family) == 0)
            return registry->entry[i];
    return NULL;
}

static const struct ridge_entry *find_variant(const struct registry *registry, const struct ridge_entry *like)
{
    for (int i = 0; i < registry->count; i++)
        if (compare_entries(&registry->entry[i], &like) == 0)
            return registry->entry[i];
    return NULL;
}

static bool same_axes(const struct ridge_family *a, const struct ridge_family *b)
{
    bool same = a->axes == b->axes;
    for (int i = 0; same && i < a->axes; i++)
        same = strcmp(a->axis[i].name, b->axis[i].name) == 0;
    return same;
}

/* What the build checks by file names for built-in variants. */
static int check_entry(const struct registry *registry, const char *path, const struct ridge_entry *entry,
                       struct ridge_error *err)
{
    if (!entry->family || !entry->label || !entry->file || !entry->variant || !entry->variant->launch)
        return ridge_fail(err, RIDGE_INVALID, "%s: an entry lacks its family, label, file, variant or launch", path);
    const char *rule = entry->variant->kind == RIDGE_HOST ? "h[0-9][0-9]_?*" : "[0-9][0-9]_?*";
    if (fnmatch(rule, entry->label, 0) != 0)
        return ridge_fail(err, RIDGE_INVALID, "%s: label \"%s\" of family %s must look like %s", path, entry->label,
                          entry->family, rule);
    const struct ridge_entry *other = find_variant(registry, entry);
    if (other)
        return ridge_fail(err, RIDGE_INVALID, "%s: variant %s_%s of %s is already there, from %s", path, entry->family,
                          entry->label, entry->file, other->file);
    other = find_family(registry, entry->family);
    if (!other && !entry->problem)
        return ridge_fail(err, RIDGE_INVALID, "%s: variant %s_%s brings no problem, and there is no family %s", path,
                          entry->family, entry->label, entry->family);
    if (other && entry->problem && !same_axes(other->problem, entry->problem))
        return ridge_fail(err, RIDGE_INVALID, "%s: family %s of %s has other axes than that of %s", path, entry->family,
                          entry->file, other->file);
    return RIDGE_OK;
}

int registry_open(struct registry *registry, struct ridge_error *err)
{
    *registry = (struct registry){.count = 0};
    registry->entry = malloc(((size_t)ridge_builtin_entry_count + 1) * sizeof *registry->entry);
    if (!registry->entry)
        return ridge_fail(err, RIDGE_ENVIRONMENT, "no memory for the registry");
    for (int i = 0; i < ridge_builtin_entry_count; i++)
        registry->entry[registry->count++] = &ridge_builtin_entries[i];
    return RIDGE_OK;
}

/* The plugin's table, or NULL with the message. */
static const struct ridge_plugin *plugin_table(void *handle, const char *path, struct ridge_error *err)
{
    const struct ridge_plugin *plugin = dlsym(handle, "ridge_plugin");
    if (!plugin)
        ridge_fail(err, RIDGE_INVALID, "%s: not a plugin, it has no symbol ridge_plugin", path);
    else if (plugin->abi_version != RIDGE_ABI_VERSION)
        ridge_fail(err, RIDGE_INVALID, "%s: plugin ABI version %d, but this program has version %d", path,
                   plugin->abi_version, RIDGE_ABI_VERSION);
    else if (plugin->entries < 1 || !plugin->entry)
        ridge_fail(err, RIDGE_INVALID, "%s: a plugin without variants", path);
    else
        return plugin;
    return NULL;
}

/* `grown` is the registry with arrays that have room for the plugin; its old arrays stay whole. */
static int add_plugin(struct registry *grown, const char *path, const struct ridge_plugin *plugin, void *handle,
                      struct ridge_error *err)
{
    struct ridge_entry *copy = grown->adopted[grown->plugins];
    for (int i = 0; i < plugin->entries; i++) {
        int status = check_entry(grown, path, &plugin->entry[i], err);
        if (status)
            return status;
        copy[i] = plugin->entry[i];
        if (!copy[i].problem) {
            const struct ridge_entry *family = find_family(grown, copy[i].family);
            copy[i].problem = family->problem;
            copy[i].reference = family->reference;
        }
        grown->entry[grown->count++] = &copy[i];
        qsort(grown->entry, (size_t)grown->count, sizeof *grown->entry, compare_entries);
    }
    grown->plugin[grown->plugins++] = handle;
    return RIDGE_OK;
}

static void *copy_array(const void *array, size_t bytes, size_t more_bytes)
{
    void *copy = malloc(bytes + more_bytes);
    if (copy && bytes)
        memcpy(copy, array, bytes);
    return copy;
}

static void free_arrays(struct registry *registry)
{
    free(registry->plugin);
    free(registry->adopted);
    free(registry->entry);
}

int registry_load(struct registry *registry, const char *path, struct ridge_error *err)
{
    char file[4096];
    snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path); /* not from the system's folders */
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return ridge_fail(err, RIDGE_INVALID, "cannot load plugin: %s", dlerror());
    const struct ridge_plugin *plugin = plugin_table(handle, path, err);
    if (!plugin) {
        dlclose(handle);
        return RIDGE_INVALID;
    }
    size_t plugins = (size_t)registry->plugins, added = (size_t)plugin->entries;
    struct registry grown = *registry;
    struct ridge_entry *copy = malloc(added * sizeof *copy);
    grown.entry =
        copy_array(registry->entry, (size_t)registry->count * sizeof *grown.entry, added * sizeof *grown.entry);
    grown.plugin = copy_array(registry->plugin, plugins * sizeof *grown.plugin, sizeof *grown.plugin);
    grown.adopted = copy_array(registry->adopted, plugins * sizeof *grown.adopted, sizeof *grown.adopted);
    int status = RIDGE_OK;
    if (!copy || !grown.entry || !grown.plugin || !grown.adopted) {
        status = ridge_fail(err, RIDGE_ENVIRONMENT, "no memory to load %s", path);
    } else {
        grown.adopted[plugins] = copy;
        status = add_plugin(&grown, path, plugin, handle, err);
    }
    if (status) {
        free_arrays(&grown);
        free(copy);
        dlclose(handle);
    } else {
        free_arrays(registry);
        *registry = grown;
    }
    return status;
}

void registry_close(struct registry *registry)
{
    for (int i = 0; i < registry->plugins; i++) {
        free(registry->adopted[i]);
        dlclose(registry->plugin[i]);
    }
    free_arrays(registry);
    *registry = (struct registry){.count = 0};
}
