/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include <errno.h>
#include <string.h>

#include "base/folder.h"

error_t inputs_parse(int key, struct argp_state *state, struct inputs *inputs)
{
    switch (key) {
    case ARGP_KEY_ARGS:
        inputs->path = state->argv + state->next;
        inputs->paths = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "RECORDS is missing: name at least one record file");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t inputs_none(int key, const char *arg, struct argp_state *state)
{
    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    argp_error(state, "Too many arguments: '%s' belongs to no option", arg);
    return EINVAL;
}

int inputs_read(const struct inputs *inputs, struct record_list *list, struct ridge_error *err)
{
    int status = record_list_read(list, (const char *const *)inputs->path, (size_t)inputs->paths, err);
    if (!status && list->count == 0)
        status = ridge_fail(err, RIDGE_INVALID, "%s: no records%s", inputs->path[0],
                            list->notes[0] ? ", only a partial line (an interrupted run)" : "");
    return status;
}

int inputs_make_folder(const char *path, struct ridge_error *err)
{
    if (folder_make(path) == 0)
        return RIDGE_OK;
    return ridge_fail(err, RIDGE_ENVIRONMENT, "--out %s: %s", path,
                      errno == ENOTDIR ? "not a folder, or below a file" : strerror(errno));
}
