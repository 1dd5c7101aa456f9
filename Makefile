# What can be done here; `make help` prints the targets with their `##` comments.

PORT ?= 6379
SERVER ?= redis-7.0
BENCH_SERVER ?= redis-8.0
MATRIX ?= redis-7.0 redis-8.0 valkey-8.1
TEXT ?= README.md
MODULE := $(or $(CARGO_TARGET_DIR),target)/release/libsplitbloom.so

MINUTES ?= 10

export PEER PEER_SERVER

.DEFAULT_GOAL := help
.PHONY: help build run test matrix demo fpr bits faults soak bench bench-core bench-server bench-big report fmt fmt-check lint layers docs check clean toolchain

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 } /^## / { print "\n  " substr($$0, 4) }' $(MAKEFILE_LIST)

build: toolchain ## the module: target/release/libsplitbloom.so
	cargo build --release
	@chmod +x $(MODULE) # servers load only what has its run bit

run: build ## a server with the module on 127.0.0.1 (PORT=6379, SERVER=)
	@scripts/need redis-tools
	@scripts/run $(SERVER) $(PORT) $(MODULE)

test: toolchain ## unit, property and golden tests, then those on a server (SERVER=)
	cargo test --lib
	@$(MAKE) --no-print-directory build
	@scripts/server-tests $(SERVER) $(MODULE)
	@scripts/fault-tests $(SERVER) $(MODULE)

matrix: build ## the server and fault tests on each server of MATRIX=
	@scripts/matrix $(MODULE) $(MATRIX)

faults: build ## the long versions of the fault tests: 50 kills, 100 cuts (a few minutes)
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

report: toolchain ## plots and tables of the documents, from what the benchmarks measured
	cargo run --quiet --release --example report

fmt: ## formats the sources
	cargo fmt

fmt-check:
	cargo fmt --check

lint: toolchain ## clippy, no warning allowed
	cargo clippy --all-targets -- -D warnings
	cargo clippy --features injected-faults --lib --test faults --test soak -- -D warnings

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
