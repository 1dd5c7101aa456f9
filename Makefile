# What can be done here; `make help` prints the targets with their `##` comments.

PORT ?= 6379
SERVER ?= redis-7.0
BENCH_SERVER ?= redis-8.0
MATRIX ?= redis-7.0 redis-8.0 redis-newest valkey-8.1 valkey-newest
SECONDS ?= 60
PAYLOADS ?= 100000
TEXT ?= README.md
MODULE := $(or $(CARGO_TARGET_DIR),target)/release/libsplitbloom.so

MINUTES ?= 10

export PEER PEER_SERVER

.DEFAULT_GOAL := help
.PHONY: help build run test matrix package package-test version faults soak hostile fuzz sanitize memcheck demo fpr bits bench bench-core bench-server bench-big cluster report docker docker-cluster fmt fmt-check lint layers docs check clean toolchain

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s%s\n", $$1, $$2 } /^## / { print "\n  " substr($$0, 4) }' $(MAKEFILE_LIST)

build: toolchain ## the module: target/release/libsplitbloom.so
	cargo build --release
	@chmod +x $(MODULE) # servers load only what has its run bit

run: build ## a server with the module on 127.0.0.1 (PORT=6379, SERVER=)
	@scripts/need redis-tools
	@scripts/run $(SERVER) $(PORT) $(MODULE)

test: toolchain ## unit, property and golden tests, those on a server (SERVER=), those of the image if an engine answers
	cargo test --lib --features client
	@$(MAKE) --no-print-directory build
	@scripts/server-tests $(SERVER) $(MODULE)
	@scripts/fault-tests $(SERVER) $(MODULE)
	@scripts/container-tests

matrix: build ## the server and fault tests on each server of MATRIX=
	@scripts/matrix $(MODULE) $(MATRIX)

package: ## a .deb and a .tar.gz with their checksums in build/package
	@scripts/package

package-test: package ## installs, uses and removes the .deb on fresh Debian systems (needs root)
	@scripts/package-test bookworm redis
	@scripts/package-test trixie valkey

version: ## the version of module, package and image
	@scripts/version

hostile: build ## PAYLOADS=100000 mutated dumps into a server (SERVER=)
	@[ ! -d /dev/shm ] || export TMPDIR=/dev/shm; SPLITBLOOM_PAYLOADS=$(PAYLOADS) scripts/with-server $(SERVER) $(MODULE) cargo test --features client --test server hostile -- --nocapture

fuzz: toolchain ## fuzzes the core, SECONDS=60 for each of four targets
	@scripts/fuzz $(SECONDS)

sanitize: toolchain ## the tests under AddressSanitizer and other checks (half an hour, SERVER=)
	@scripts/sanitize $(SERVER)

memcheck: build ## a few server tests with the whole server in valgrind (SERVER=)
	@scripts/memcheck $(SERVER) $(MODULE) hostile::orders hostile::pieces keyspace::

faults: build ## the long versions of the fault tests: 50 kills, 100 cuts (some five minutes)
	@SPLITBLOOM_FAULTS=long scripts/fault-tests $(SERVER) $(MODULE) --nocapture

soak: build ## random commands, kills, cuts and evictions against a model (MINUTES=10, SEED=)
	@MINUTES=$(MINUTES) SEED=$(SEED) scripts/with-server $(SERVER) $(MODULE) cargo test --release --test soak

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

cluster: build ## a filter over six nodes, one of which dies, while slots move (ITEMS=10000000, SERVER=)
	@ITEMS=$(ITEMS) scripts/with-server $(SERVER) $(MODULE) cargo bench --features client --bench cluster

report: toolchain ## plots and tables of the documents, from what the benchmarks measured
	cargo run --quiet --release --example report

docker: ## the container image splitbloom, and its bases where no registry answers
	@scripts/make-image

docker-cluster: docker ## a cluster of six containers that forms itself; ports 7001 to 7006
	@scripts/run-cluster

fmt: ## formats the sources
	cargo fmt
	cargo fmt --manifest-path tests/containers/Cargo.toml

fmt-check:
	cargo fmt --check
	cargo fmt --manifest-path tests/containers/Cargo.toml --check

lint: toolchain ## clippy, no warning allowed
	cargo clippy --all-targets --features client,injected-faults -- -D warnings
	cargo clippy --manifest-path tests/containers/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target) --all-targets -- -D warnings

layers: ## who may know whom, and where unsafe may stand
	@scripts/check-layers

docs: toolchain ## the sources' documentation, no warning allowed
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --document-private-items --features client

check: fmt-check lint layers docs ## format, lint, layers and docs

clean: ## removes target and build
	cargo clean
	rm -rf build

# What building needs beyond Rust; installed when missing.
toolchain:
	@scripts/need build-essential libclang-dev

## SERVER= and BENCH_SERVER= are redis-7.0, redis-8.0, redis-newest, valkey-8.0, valkey-8.1, valkey-newest (fetched on first use) or a path.
## PEER= is another module's .so to measure beside, on PEER_SERVER= (a path) or the same server.
