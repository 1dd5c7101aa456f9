// Redigo. It has no helpers for these commands. Argument: PORT.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/gomodule/redigo/redis"
)

var db redis.Conn

func call(name string, words ...interface{}) interface{} {
	reply, err := db.Do(name, words...)
	if err != nil {
		panic(err)
	}
	return reply
}

func say(name string, values ...interface{}) {
	line := name + ":"
	for _, value := range values {
		if list, is := value.([]interface{}); is {
			for _, one := range list {
				line += fmt.Sprint(" ", one)
			}
		} else {
			line += fmt.Sprint(" ", value)
		}
	}
	fmt.Println(line)
}

// Names and values take turns.
func field(reply interface{}, name string) interface{} {
	list := reply.([]interface{})
	for i := 0; i < len(list); i += 2 {
		if text, _ := redis.String(list[i], nil); text == name {
			return list[i+1]
		}
	}
	return nil
}

func main() {
	var err error
	db, err = redis.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}

	say("reserve", call("BF.RESERVE", "k", 0.01, 1000))
	say("add", call("BF.ADD", "k", "a"), call("BF.ADD", "k", "a"))
	say("madd", call("BF.MADD", "k", "a", "b", "c"))
	say("exists", call("BF.EXISTS", "k", "a"), call("BF.EXISTS", "k", "z"))
	say("mexists", call("BF.MEXISTS", "k", "a", "z"))
	say("insert", call("BF.INSERT", "i", "CAPACITY", 1000, "ERROR", 0.01, "ITEMS", "x", "y"))
	say("card", call("BF.CARD", "k"))
	say("capacity", field(call("BF.INFO", "k"), "Capacity"))
	say("items", call("BF.INFO", "k", "ITEMS"))
	say("estimated", field(call("BF.INFO", "k", "FULL"), "Estimated items"))

	call("BF.RESERVE", "big", 0.000001, 1000)
	items := redis.Args{"big"}
	for i := 0; i < 1000; i++ {
		items = items.Add(i)
	}
	call("BF.MADD", items...)
	var loaded interface{}
	for iterator := int64(0); ; {
		reply := call("BF.SCANDUMP", "big", iterator).([]interface{})
		iterator = reply[0].(int64)
		if iterator == 0 {
			break
		}
		loaded = call("BF.LOADCHUNK", "copy", iterator, reply[1])
	}
	say("copy", loaded, call("BF.MEXISTS", "copy", 0, 999, "z"))

	say("binary", call("BF.ADD", "k", "\x00\xff\n"), call("BF.MEXISTS", "k", "\x00\xff\n", "\x00\xff"))
	say("bits", fmt.Sprintf("%x", call("BF.PACKADD", "p", "FIXED", 1, "abcdefgh", "BITS")))
	say("window", call("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60), call("BF.ADD", "w", "a"), call("BF.ADD", "w", "a"))

	call("BF.RESERVE", "n", 0.01, 2, "NONSCALING")
	replies := call("BF.MADD", "n", "a", "b", "c").([]interface{})
	if _, is := replies[2].(redis.Error); !is {
		say("mind", "an-error-among-the-replies")
	}
	say("full", call("BF.MEXISTS", "n", "a", "b", "c"))

	say("counting", call("CF.RESERVE", "c", 100), call("CF.ADD", "c", "a"), call("CF.ADD", "c", "a"), call("CF.COUNT", "c", "a"), call("CF.DEL", "c", "a"), call("CF.COUNT", "c", "a"))
	say("deleted", field(call("CF.INFO", "c"), "Number of items deleted"))
	_, err = db.Do("BF.RESERVE", "k", 0.01, 1000)
	say("error", strings.TrimPrefix(err.Error(), "ERR "))
}
