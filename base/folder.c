/* SPDX-License-Identifier: Apache-2.0 */
#include "base/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Some file systems refuse before they say that a folder is there. */
static int make_one(const char *path)
{
    struct stat info;
    int made = mkdir(path, 0777), cause = errno;
    if (made == 0 || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return 0;
    errno = cause == EEXIST ? ENOTDIR : cause;
    return -1;
}

int folder_make(const char *path)
{
    char *part = strdup(path);
    int status = part ? 0 : -1;
    for (char *slash = part ? strchr(part, '/') : NULL; slash && !status; slash = strchr(slash + 1, '/')) {
        if (slash == part)
            continue;
        *slash = '\0';
        status = make_one(part);
        *slash = '/';
    }
    if (!status)
        status = make_one(path);
    int cause = errno;
    free(part);
    errno = cause;
    return status;
}
