#!/usr/bin/env bash
# redis-cli or valkey-cli. Arguments: PORT CLIENT.
set -euo pipefail
port=$1 client=$2

call() { "$client" -p "$port" "$@"; }
# Prints a reply of any length on one line.
say() { echo "$1:" "$(paste -sd ' ')"; }
# field NAME: its value in a reply in which names and values take turns.
field() { grep --after-context=1 --line-regexp "$1" | tail -n 1; }

"$client" --version | cut -d ' ' -f 2 | say version
call BF.RESERVE k 0.01 1000 | say reserve
(call BF.ADD k a; call BF.ADD k a) | say add
call BF.MADD k a b c | say madd
(call BF.EXISTS k a; call BF.EXISTS k z) | say exists
call BF.MEXISTS k a z | say mexists
call BF.INSERT i CAPACITY 1000 ERROR 0.01 ITEMS x y | say insert
call BF.CARD k | say card
call BF.INFO k | field Capacity | say capacity
call BF.INFO k ITEMS | say items
call BF.INFO k FULL | field 'Estimated items' | say estimated

call BF.RESERVE big 0.000001 1000 >/dev/null
seq 0 999 | xargs "$client" -p "$port" BF.MADD big >/dev/null
file=$(mktemp)
trap 'rm -f "$file"' EXIT
iterator=0
while call BF.SCANDUMP big "$iterator" >"$file" && iterator=$(head -n 1 "$file") && ((iterator)); do
    # The chunk begins after the first line and ends before the last newline.
    loaded=$(tail -n +2 "$file" | head -c -1 | call -x BF.LOADCHUNK copy "$iterator")
done
(echo "$loaded"; call BF.MEXISTS copy 0 999 z) | say copy

# Typed at its prompt, "\x00\xff" stands for bytes. A shell's argument cannot contain a zero byte.
printf '%s\n' 'BF.ADD k "\x00\xff\n"' 'BF.MEXISTS k "\x00\xff\n" "\x00\xff"' | call | say binary
call BF.PACKADD p FIXED 1 abcdefgh BITS | head -c 1 | od -An -tx1 | tr -d ' ' | say bits
(call BF.RESERVE w 0.01 100 WINDOW 60; call BF.ADD w a; call BF.ADD w a) | say window

call BF.RESERVE n 0.01 2 NONSCALING >/dev/null
call BF.MADD n a b c | grep -q 'non scaling filter is full'
call BF.MEXISTS n a b c | say full

(call CF.RESERVE c 100; call CF.ADD c a; call CF.ADD c a; call CF.COUNT c a; call CF.DEL c a; call CF.COUNT c a) | say counting
call CF.INFO c | field 'Number of items deleted' | say deleted
call BF.RESERVE k 0.01 1000 | sed -n 's/^ERR //p' | say error
