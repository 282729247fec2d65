/* SPDX-License-Identifier: Apache-2.0 */
/* For build tools: the device code inside an object file. */
#ifndef RIDGE_CMAKE_FATBIN_H
#define RIDGE_CMAKE_FATBIN_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ELF file, to be freed; NULL if it is none. */
static inline char *elf_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    long size = fseek(file, 0, SEEK_END) ? 0 : ftell(file);
    char *data = size >= (long)sizeof(Elf64_Ehdr) ? malloc((size_t)size) : NULL;
    rewind(file);
    if (data && (fread(data, 1, (size_t)size, file) != (size_t)size || memcmp(data, ELFMAG, SELFMAG) != 0)) {
        free(data);
        data = NULL;
    }
    fclose(file);
    *bytes = (size_t)size;
    return data;
}

/* visit(name, section, bytes) for every section. */
typedef void elf_visit(void *context, const char *name, const Elf64_Shdr *header, char *bytes);

static inline void elf_sections(char *elf, elf_visit *visit, void *context)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(elf + header->e_shoff);
    const char *names = elf + section[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        visit(context, names + section[i].sh_name, &section[i], elf + section[i].sh_offset);
}

/* Entries of a fat binary: a header, then the code. As fatbinary writes them; cuobjdump agrees. */
enum { FATBIN_MAGIC = 0xba55ed50, FATBIN_PTX = 1, FATBIN_ELF = 2 };
struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of all entries */
};
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
};

/* visit(code, bytes) for every entry of `kind` in the section .nv_fatbin; returns how many there are. */
typedef void fatbin_visit(void *context, char *code, size_t bytes);

static inline int fatbin_entries(char *at, size_t bytes, int kind, fatbin_visit *visit, void *context)
{
    const char *end = at + bytes;
    int visited = 0;
    while (end - at >= (ptrdiff_t)sizeof(struct fatbin)) {
        const struct fatbin *fatbin = (const struct fatbin *)at;
        if (fatbin->magic != FATBIN_MAGIC)
            break;
        char *entry_at = at + fatbin->header_bytes;
        at = entry_at + fatbin->bytes;
        while (entry_at < at) {
            const struct fatbin_entry *entry = (const struct fatbin_entry *)entry_at;
            char *code = entry_at + entry->header_bytes;
            entry_at = code + entry->bytes;
            if (entry->kind != kind)
                continue;
            visited++;
            visit(context, code, entry->bytes);
        }
    }
    return visited;
}

#endif
