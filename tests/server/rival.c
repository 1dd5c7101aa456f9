/* A module that takes what splitbloom needs, depending on its argument: its module name, one of
 * its commands, or its type. It looks up the server's functions by name, so that it needs no
 * header. */

#include <stdint.h>
#include <string.h>

typedef int command_function(void *context, void **argv, int argc);

struct type_methods {
    uint64_t version;
    void *functions[6];
};

static int do_nothing(void *context, void **argv, int argc) {
    (void)context, (void)argv, (void)argc;
    return 0;
}

int RedisModule_OnLoad(void *context, void **argv, int argc) {
    /* The first field of a context is the function that finds the others. */
    int (*find)(const char *, void *) = *(int (**)(const char *, void *))context;
    void (*set_attributes)(void *, const char *, int, int);
    const char *(*text_of)(void *, size_t *);
    int (*create_command)(void *, const char *, command_function *, const char *, int, int, int);
    void *(*create_type)(void *, const char *, int, struct type_methods *);
    if (find("RedisModule_SetModuleAttribs", &set_attributes) || find("RedisModule_StringPtrLen", &text_of) ||
        find("RedisModule_CreateCommand", &create_command) || find("RedisModule_CreateDataType", &create_type) ||
        argc != 1)
        return 1;
    const char *what = text_of(argv[0], NULL);
    set_attributes(context, strcmp(what, "name") == 0 ? "bf" : "rival", 1, 1);
    if (strcmp(what, "command") == 0)
        return create_command(context, "bf.madd", do_nothing, "readonly", 1, 1, 1);
    if (strcmp(what, "type") == 0) {
        struct type_methods methods = {.version = 1};
        return create_type(context, "MBbloom--", 0, &methods) == NULL;
    }
    return 0;
}
