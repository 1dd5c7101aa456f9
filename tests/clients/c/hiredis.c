/* hiredis. It has no helpers for any command. Argument: PORT. */

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *db;

static redisReply *call(const char *format, ...) {
    va_list words;
    va_start(words, format);
    redisReply *reply = redisvCommand(db, format, words);
    va_end(words);
    if (reply == NULL) {
        fprintf(stderr, "%s\n", db->errstr);
        exit(1);
    }
    return reply;
}

/* Prints a reply and frees it. */
static void print(redisReply *reply) {
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        printf(" %lld", reply->integer);
        break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            print(reply->element[i]);
            reply->element[i] = NULL;
        }
        break;
    default:
        printf(" %.*s", (int)reply->len, reply->str);
    }
    freeReplyObject(reply);
}

/* The value of a field; names and values take turns. */
static long long field(redisReply *info, const char *name) {
    for (size_t i = 0; i + 1 < info->elements; i += 2)
        if (strcmp(info->element[i]->str, name) == 0) return info->element[i + 1]->integer;
    return -1;
}

static void say(const char *name) { printf("%s:", name); }

int main(int argc, char **argv) {
    db = redisConnect("127.0.0.1", atoi(argv[argc - 1]));
    printf("version: %d.%d.%d", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);

    say("\nreserve"), print(call("BF.RESERVE k 0.01 1000"));
    say("\nadd"), print(call("BF.ADD k a")), print(call("BF.ADD k a"));
    say("\nmadd"), print(call("BF.MADD k a b c"));
    say("\nexists"), print(call("BF.EXISTS k a")), print(call("BF.EXISTS k z"));
    say("\nmexists"), print(call("BF.MEXISTS k a z"));
    say("\ninsert"), print(call("BF.INSERT i CAPACITY 1000 ERROR 0.01 ITEMS x y"));
    say("\ncard"), print(call("BF.CARD k"));
    printf("\ncapacity: %lld", field(call("BF.INFO k"), "Capacity"));
    say("\nitems"), print(call("BF.INFO k ITEMS"));
    printf("\nestimated: %lld", field(call("BF.INFO k FULL"), "Estimated items"));

    freeReplyObject(call("BF.RESERVE big 0.000001 1000"));
    for (int i = 0; i < 1000; i++) freeReplyObject(call("BF.ADD big %d", i));
    redisReply *loaded = NULL;
    for (long long iterator = 0;;) {
        redisReply *dumped = call("BF.SCANDUMP big %lld", iterator);
        iterator = dumped->element[0]->integer;
        redisReply *chunk = dumped->element[1];
        if (iterator == 0) break;
        /* %b takes bytes and their number: a chunk contains zeros. */
        loaded = call("BF.LOADCHUNK copy %lld %b", iterator, chunk->str, chunk->len);
        freeReplyObject(dumped);
    }
    say("\ncopy"), print(loaded), print(call("BF.MEXISTS copy 0 999 z"));

    say("\nbinary"), print(call("BF.ADD k %b", "\x00\xff\n", (size_t)3));
    print(call("BF.MEXISTS k %b %b", "\x00\xff\n", (size_t)3, "\x00\xff", (size_t)2));
    redisReply *bits = call("BF.PACKADD p FIXED 1 abcdefgh BITS");
    printf("\nbits: %02x", (unsigned char)bits->str[0]);
    say("\nwindow"), print(call("BF.RESERVE w 0.01 100 WINDOW 60")), print(call("BF.ADD w a")), print(call("BF.ADD w a"));

    freeReplyObject(call("BF.RESERVE n 0.01 2 NONSCALING"));
    redisReply *refused = call("BF.MADD n a b c");
    if (refused->element[2]->type != REDIS_REPLY_ERROR) return 1;
    say("\nfull"), print(call("BF.MEXISTS n a b c"));

    say("\ncounting"), print(call("CF.RESERVE c 100")), print(call("CF.ADD c a")), print(call("CF.ADD c a"));
    print(call("CF.COUNT c a")), print(call("CF.DEL c a")), print(call("CF.COUNT c a"));
    printf("\ndeleted: %lld", field(call("CF.INFO c"), "Number of items deleted"));
    printf("\nerror: %s\n", call("BF.RESERVE k 0.01 1000")->str + strlen("ERR "));
    return 0;
}
