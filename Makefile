# What can be done here; `make help` prints the targets with their `##` comments.

PORT ?= 6379
SERVER ?= redis-7.0
BENCH_SERVER ?= redis-8.0
SECONDS ?= 60
PAYLOADS ?= 100000
MATRIX ?= redis-7.0 redis-8.0 valkey-8.1
TEXT ?= README.md
MODULE := $(or $(CARGO_TARGET_DIR),target)/release/libsplitbloom.so

export PEER PEER_SERVER

.DEFAULT_GOAL := help
.PHONY: help build run test matrix hostile fuzz sanitize memcheck demo fpr bits bench bench-core bench-server bench-big report fmt fmt-check lint layers docs check clean toolchain

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 } /^## / { print "\n  " substr($$0, 4) }' $(MAKEFILE_LIST)

build: toolchain ## the module: target/release/libsplitbloom.so
	cargo build --release
	@chmod +x $(MODULE) # servers load only what has its run bit

run: build ## a server with the module on 127.0.0.1 (PORT=6379, SERVER=)
	@scripts/need redis-tools
	@scripts/run $(SERVER) $(PORT) $(MODULE)

test: toolchain ## unit, property and golden tests, then the server tests (SERVER=)
	cargo test --lib
	@$(MAKE) --no-print-directory build
	@scripts/server-tests $(SERVER) $(MODULE)

matrix: build ## the server tests on each server of MATRIX=
	@scripts/matrix $(MODULE) $(MATRIX)

hostile: build ## PAYLOADS=100000 mutated dumps into a server (SERVER=)
	@[ ! -d /dev/shm ] || export TMPDIR=/dev/shm; SPLITBLOOM_PAYLOADS=$(PAYLOADS) scripts/with-server $(SERVER) $(MODULE) cargo test --release --test server hostile -- --nocapture

fuzz: toolchain ## fuzzes the core, SECONDS=60 for each of four targets
	@scripts/fuzz $(SECONDS)

sanitize: toolchain ## the tests under AddressSanitizer and other checks (half an hour, SERVER=)
	@scripts/sanitize $(SERVER)

memcheck: build ## a few server tests with the whole server in valgrind (SERVER=)
	@scripts/memcheck $(SERVER) $(MODULE) hostile::orders hostile::pieces keyspace::

demo: build ## 100 000 English words in a filter; spell-checks TEXT=README.md
	@scripts/demo $(SERVER) $(MODULE) $(TEXT)

fpr: toolchain ## measured false-positive rates, with error bars (three quarters of an hour)
	cargo run --release --example false_positive_rate

bits: build ## bits per item, as the server counts them
	@scripts/with-server $(SERVER) $(MODULE) cargo run --quiet --release --example bits_per_item

bench: bench-core bench-server ## speed of the core and of the server, beside PEER= (ten minutes)

bench-core: toolchain
	cargo bench --bench core

bench-server: build
	@scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench server

bench-big: build ## stalls and snapshots at 10^9 items; 2*10^9 URLs in 500 MiB (a quarter of an hour)
	@scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench big

report: toolchain ## plots and tables of the documents, from what the benchmarks measured
	cargo run --quiet --release --example report

fmt: ## formats the sources
	cargo fmt

fmt-check:
	cargo fmt --check

lint: toolchain ## clippy, no warning allowed
	cargo clippy --all-targets -- -D warnings

layers: ## who may know whom, and where unsafe may stand
	@scripts/check-layers

docs: toolchain ## the sources' documentation, no warning allowed
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items

check: fmt-check lint layers docs ## format, lint, layers and docs

clean: ## removes target and build
	cargo clean
	rm -rf build

# What building needs beyond Rust; installed when missing.
toolchain:
	@scripts/need build-essential libclang-dev

## SERVER= and BENCH_SERVER= are redis-7.0, redis-8.0, valkey-8.1 (fetched on first use) or a path.
## PEER= is another module's .so to measure beside, on PEER_SERVER= (a path) or the same server.
