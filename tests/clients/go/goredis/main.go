// go-redis, version 9. Argument: PORT.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func say(name string, values ...any) {
	words := []string{name + ":"}
	for _, value := range values {
		switch value := value.(type) {
		case bool:
			words = append(words, map[bool]string{true: "1", false: "0"}[value])
		case []bool:
			for _, one := range value {
				words = append(words, map[bool]string{true: "1", false: "0"}[one])
			}
		default:
			words = append(words, fmt.Sprint(value))
		}
	}
	fmt.Println(strings.Join(words, " "))
}

func main() {
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})

	say("version", redis.Version())
	say("reserve", must(db.BFReserve(ctx, "k", 0.01, 1000).Result()))
	say("add", must(db.BFAdd(ctx, "k", "a").Result()), must(db.BFAdd(ctx, "k", "a").Result()))
	say("madd", must(db.BFMAdd(ctx, "k", "a", "b", "c").Result()))
	say("exists", must(db.BFExists(ctx, "k", "a").Result()), must(db.BFExists(ctx, "k", "z").Result()))
	say("mexists", must(db.BFMExists(ctx, "k", "a", "z").Result()))
	options := redis.BFInsertOptions{Capacity: 1000, Error: 0.01}
	say("insert", must(db.BFInsert(ctx, "i", &options, "x", "y").Result()))
	say("card", must(db.BFCard(ctx, "k").Result()))
	say("capacity", must(db.BFInfo(ctx, "k").Result()).Capacity)
	say("items", must(db.BFInfoItems(ctx, "k").Result()).ItemsInserted)
	full := must(db.Do(ctx, "BF.INFO", "k", "FULL").Result()).(map[any]any)
	say("estimated", full["Estimated items"])

	db.BFReserve(ctx, "big", 0.000001, 1000)
	items := make([]any, 1000)
	for i := range items {
		items[i] = i
	}
	must(db.BFMAdd(ctx, "big", items...).Result())
	loaded := ""
	for iterator := int64(0); ; {
		chunk := must(db.BFScanDump(ctx, "big", iterator).Result())
		iterator = chunk.Iter
		if iterator == 0 {
			break
		}
		loaded = must(db.BFLoadChunk(ctx, "copy", iterator, chunk.Data).Result())
	}
	say("copy", loaded, must(db.BFMExists(ctx, "copy", 0, 999, "z").Result()))

	say("binary", must(db.BFAdd(ctx, "k", "\x00\xff\n").Result()), must(db.BFMExists(ctx, "k", "\x00\xff\n", "\x00\xff").Result()))
	say("bits", fmt.Sprintf("%x", must(db.Do(ctx, "BF.PACKADD", "p", "FIXED", 1, "abcdefgh", "BITS").Text())))
	window := must(db.Do(ctx, "BF.RESERVE", "w", 0.01, 100, "WINDOW", 60).Text())
	say("window", window, must(db.BFAdd(ctx, "w", "a").Result()), must(db.BFAdd(ctx, "w", "a").Result()))

	db.BFReserveNonScaling(ctx, "n", 0.01, 2)
	if _, err := db.BFMAdd(ctx, "n", "a", "b", "c").Result(); err != nil {
		say("mind", "an-error-among-the-replies")
	}
	say("full", must(db.BFMExists(ctx, "n", "a", "b", "c").Result()))

	say("counting", must(db.CFReserve(ctx, "c", 100).Result()), must(db.CFAdd(ctx, "c", "a").Result()), must(db.CFAdd(ctx, "c", "a").Result()),
		must(db.CFCount(ctx, "c", "a").Result()), must(db.CFDel(ctx, "c", "a").Result()), must(db.CFCount(ctx, "c", "a").Result()))
	say("deleted", must(db.CFInfo(ctx, "c").Result()).NumItemsDeleted)
	err := db.BFReserve(ctx, "k", 0.01, 1000).Err()
	say("error", strings.TrimPrefix(err.Error(), "ERR "))
}
