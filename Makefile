# `make help` lists the targets with their `##` comments.

PORT ?= 6379
SERVER ?= redis-7.0
BENCH_SERVER ?= redis-8.0
MATRIX ?= redis-7.0 redis-8.0 redis-newest valkey-8.1 valkey-newest
SECONDS ?= 60
PAYLOADS ?= 100000
PROBES ?= 1e10
TRIALS ?= 10000000
TEXT ?= README.md
PLOT ?= build/guard.svg
SKETCH_MODULE := $(or $(CARGO_TARGET_DIR),target)/release/libsplitsketch.so
MODULE := $(or $(CARGO_TARGET_DIR),target)/release/libsplitbloom.so

PUBLISHED := $(addprefix --package splitbloom-,foundation filter partition client)

MINUTES ?= 10

export PEER PEER_SERVER

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## prints this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 } /^## / { print (n++ ? "  " : "\n  ") substr($$0, 4) }' $(MAKEFILE_LIST)

# The compiler is told the commit; after another one, only what reports it is compiled again.
module build build-aarch64 build-musl: export SPLITBLOOM_BUILD = $(shell scripts/version --build)

build: module ## builds the modules and the tool: target/release/libsplitbloom.so, libsplitsketch.so, splitbloom
	cargo build --release --package splitbloom-cli

module: toolchain ## builds the modules alone, for filters and for sketches
	cargo build --release --package splitbloom --package splitsketch
	@chmod +x $(MODULE) $(SKETCH_MODULE) # servers load only executable files

run: module ## runs a server with the modules on 127.0.0.1 (PORT=6379, SERVER=)
	@scripts/run $(SERVER) $(PORT) $(MODULE)

test-core: ## tests the core alone, in seconds: no server, no libclang
	@scripts/need build-essential
	cargo test --package splitbloom-foundation --package splitbloom-filter --package splitbloom-sketch --package splitbloom-grammar --package splitbloom-partition --package splitbloom-fuzz

test: toolchain ## runs all tests: unit, property, golden, on a server (SERVER=), and the image if an engine answers
	cargo build --workspace --bins --tests --example 'recipe-*' # all at once keeps every core busy
	cargo test --workspace --lib --test '*_memory' --test setup
	cargo test --workspace --doc
	@$(MAKE) --no-print-directory module
	@scripts/server-tests $(SERVER) $(MODULE)
	@scripts/fault-tests $(SERVER) $(MODULE)
	@scripts/python-tests $(SERVER) $(MODULE)
	@scripts/guard-tests $(SERVER) $(MODULE)
	@scripts/container-tests

wheel: toolchain ## builds the Python package: build/wheel/splitbloom-*.whl
	@scripts/wheel build/wheel

wheel-test: wheel ## builds the Python package again, to compare the bytes, and installs it on fresh Debian systems (needs root)
	@scripts/wheel-twice
	@scripts/wheel-test bookworm
	@scripts/wheel-test trixie

test-python: module ## tests the Python package (SERVER=)
	@scripts/python-tests $(SERVER) $(MODULE)

bench-follow: build ## measures followers: lookups, how far they are behind, their cost (SECONDS=60, PEER=)
	@SECONDS=$(SECONDS) scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench follow

bench-python: module ## measures the Python package next to others, and to a server (BENCH_SIZES=10000000)
	@scripts/python-bench $(BENCH_SERVER) $(MODULE) $(BENCH_SIZES)

matrix: module ## runs the server and fault tests on each server in MATRIX=
	@scripts/matrix $(MODULE) $(MATRIX)

test-aarch64: ## runs the core tests and some server tests for aarch64, in QEMU (installs a cross compiler and QEMU)
	@scripts/test-aarch64

build-aarch64: ## builds the modules for aarch64, in target/aarch64-unknown-linux-gnu/release
	@scripts/with-aarch64 cargo build --release --lib --package splitbloom --package splitsketch --target aarch64-unknown-linux-gnu
	@chmod +x $(dir $(MODULE))../aarch64-unknown-linux-gnu/release/libsplit*.so

build-musl: ## builds the modules for servers on Alpine, in target/x86_64-unknown-linux-musl/release
	@scripts/with-musl cargo build --release --lib --package splitbloom --package splitsketch --target x86_64-unknown-linux-musl
	@chmod +x $(dir $(MODULE))../x86_64-unknown-linux-musl/release/libsplit*.so
	@[ "$$(scripts/libc-of $(dir $(MODULE))../x86_64-unknown-linux-musl/release/libsplit*.so)" = musl ]

package: toolchain ## builds a .deb, a .tar.gz and debug symbols, with checksums, in build/package
	@scripts/package

package-test: package ## installs, uses, upgrades and removes the .deb on fresh Debian systems (needs root)
	@scripts/package-test bookworm redis
	@scripts/package-test trixie valkey

release: toolchain ## fills dist with a release, or a trial of one, from a clean work tree (TARGETS=, SIGN= a private key; an hour)
	@SIGN=$(SIGN) scripts/release $(TARGETS)

verify: ## checks the signature (KEY= a public key) and the checksums of dist
	@KEY=$(KEY) scripts/verify

reproduce: toolchain ## builds the release a second time, elsewhere, and compares it with dist (TARGETS=)
	@scripts/reproduce $(TARGETS)

distributions: toolchain ## builds source and binary packages as distributions do, in build/distributions
	@scripts/distributions

version: ## prints the version of module, package and image
	@scripts/version

hostile: build ## loads PAYLOADS=100000 mutants of each kind of dump into a server (SERVER=, three quarters of an hour)
	@[ ! -d /dev/shm ] || export TMPDIR=/dev/shm; SPLITBLOOM_PAYLOADS=$(PAYLOADS) scripts/with-server $(SERVER) $(MODULE) cargo test --workspace --test server --test sketch hostile -- --nocapture

fuzz: toolchain ## runs the fuzz targets for SECONDS=60 each
	@scripts/fuzz $(SECONDS)

sanitize: toolchain ## runs the tests under AddressSanitizer and ThreadSanitizer (half an hour, SERVER=)
	@scripts/sanitize $(SERVER)

memcheck: build ## runs a few server tests with the whole server in valgrind (SERVER=)
	@scripts/memcheck $(SERVER) $(MODULE) hostile::orders hostile::chunks keyspace::

faults: build ## runs the long fault tests: 50 kills, 100 cuts (about five minutes)
	@SPLITBLOOM_FAULTS=long scripts/fault-tests $(SERVER) $(MODULE) --nocapture

models: build ## runs the tests of deletion, of time windows and of followers against models (TRIALS=10000000, MATRIX=; half an hour)
	@scripts/models $(TRIALS) $(MODULE) $(MATRIX)

soak: build ## runs random commands, kills, cuts and evictions against a model (MINUTES=10, SEED=)
	@MINUTES=$(MINUTES) SEED=$(SEED) scripts/with-server $(SERVER) $(MODULE) cargo test --release --test soak

migrate: build ## comes over from RedisBloom, each way (PEER= its module, PEER_SERVER=, FILTERS=60)
	@scripts/migrate $(BENCH_SERVER) $(MODULE)

clients: build ## runs programs with some thirty client libraries, and tables them in docs/clients.md (SERVER=, needs root)
	@scripts/clients $(SERVER) $(MODULE)

demo: build ## puts 100 000 English words in a filter and spell-checks TEXT=README.md
	@scripts/demo $(SERVER) $(MODULE) $(TEXT)

demo-guard: build ## attacks a database with and without a filter in front, and plots it (PLOT=build/guard.svg, two minutes)
	@scripts/with-server $(BENCH_SERVER) $(MODULE) scripts/cargo-apart examples/guard run --release -- $(PLOT)

fpr: toolchain ## measures false-positive rates, with error bars (PROBES=1e10 lookups a row: 45 minutes)
	cargo run --release --package splitbloom-filter --example false_positive_rate $(PROBES)

bits: build ## prints the bits per item and bytes per key that the server counts (PEER=)
	@scripts/with-server $(SERVER) $(MODULE) cargo run --release --example bits_per_item

bench: bench-core bench-server ## measures the core and the server, next to PEER= (a quarter of an hour)

bench-core: toolchain
	cargo bench --bench core

bench-server: build ## measures the server alone (BENCH_PARTS=, BENCH_SIZES=, BENCH_ROUNDS=, BENCH_SAVE=)
	@scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench server

bench-bulk: build ## measures packed commands beside the same batches unpacked, and the tool (PEER=, BENCH_SIZES=)
	@BENCH_PARTS="$(or $(BENCH_PARTS),bulk tool)" scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench server

bench-sketch: module ## measures sketches in the command next to PEER=, and their errors (BENCH_PARTS=)
	@scripts/with-server $(BENCH_SERVER) $(SKETCH_MODULE) cargo bench --bench sketch

bench-big: build ## measures stalls and snapshots at 10^9 items; 2*10^9 URLs in 500 MiB (15 minutes; BIG_PARTS=)
	@scripts/with-server $(BENCH_SERVER) $(MODULE) cargo bench --bench big

cluster: build ## fills a filter on six nodes while slots move and one node dies (ITEMS=10000000, SERVER=)
	@ITEMS=$(ITEMS) scripts/with-server $(SERVER) $(MODULE) cargo bench --bench cluster

report: toolchain ## updates the documentation's plots and tables from the last benchmarks
	cargo run --quiet --release --example report

docker: ## builds the images splitbloom and splitbloom-modules, and their bases if no registry answers
	@scripts/make-image

docker-cluster: docker ## starts a cluster of six containers that forms itself; ports 7001 to 7006
	@scripts/run-cluster

fmt: toolchain ## formats the sources
	cargo fmt --all
	cargo fmt --manifest-path tests/containers/Cargo.toml
	cargo fmt --manifest-path tests/clients/rust/Cargo.toml
	cargo fmt --manifest-path examples/guard/Cargo.toml

fmt-check: toolchain
	cargo fmt --all --check
	cargo fmt --manifest-path tests/containers/Cargo.toml --check
	cargo fmt --manifest-path tests/clients/rust/Cargo.toml --check
	cargo fmt --manifest-path examples/guard/Cargo.toml --check
	@! git ls-files '*.rs' | LC_ALL=C.UTF-8 xargs grep -nE '^.{101}' # rustfmt leaves comments and strings alone

lint: toolchain ## runs clippy; warnings are errors
	cargo clippy --all-targets --workspace --features injected-faults -- -D warnings
	scripts/cargo-apart tests/containers clippy --all-targets -- -D warnings
	scripts/cargo-apart examples/guard clippy --all-targets -- -D warnings

layers: ## checks what the lints cannot: dependencies between layers, panic guards
	@scripts/check-layers

workflows: toolchain ## checks the workflows for GitHub
	@scripts/check-workflows

manifests: toolchain ## checks packaging/kubernetes against the schemas of Kubernetes
	@scripts/check-manifests

docs: toolchain ## builds the rustdoc; warnings are errors
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items

deny: toolchain ## checks licences, sources and duplicates of the dependencies
	@scripts/deny

crates: ## packs the crates that are published, and builds each from its package (cargo 1.90)
	@scripts/need build-essential
	cargo package --allow-dirty $(PUBLISHED)

# Not a part of `check`: it refuses a registry that is replaced by a mirror.
publish-check: crates ## publishes these crates for trial only, and compares their interfaces with the last tag
	cargo publish --dry-run --no-verify --allow-dirty $(PUBLISHED)
	@scripts/semver

check: fmt-check lint layers workflows manifests deny docs crates ## runs all static checks: format, lint, layers, workflows, manifests, dependencies, docs, crates

clean: ## removes target and build
	cargo clean
	rm -rf build dist

# Debian packages that a target needs besides Rust. All goals are checked at once, before anything
# is built, and missing packages are installed. Steps that only root can do, or that a test can
# skip, ask for their packages in their own scripts.
needs := build-essential libclang-dev
needs-run := redis-tools
needs-test := python3-venv
needs-matrix := python3-venv
needs-wheel := python3-venv
needs-wheel-test := python3-venv
needs-test-python := python3-venv
needs-bench-python := python3-venv
needs-demo-guard := postgresql
needs-clients := python3-venv mmdebstrap
needs-workflows := python3-venv
needs-deny := python3-venv
needs-manifests := python3-venv
needs-check := python3-venv
needs-package := dpkg-dev
needs-package-test := dpkg-dev
# Each architecture's binutils is in the archive of both.
needs-release := dpkg-dev python3-venv openssl musl-tools binutils-aarch64-linux-gnu binutils-x86-64-linux-gnu
needs-reproduce := $(needs-release)
needs-distributions := debhelper lintian rpm
needs-memcheck := python3-venv valgrind
# The AddressSanitizer runtime comes with the clang of the Rust compiler's own LLVM version.
needs-sanitize = python3-venv $(addprefix libclang-rt-,$(addsuffix -dev,$(shell scripts/llvm-version)))

toolchain:
	@scripts/need $(sort $(needs) $(foreach goal,$(MAKECMDGOALS),$(needs-$(goal))))

## SERVER=: redis-7.0, redis-8.0, redis-newest, valkey-8.0, valkey-8.1, valkey-newest, one of
##   them with the suffix -arm64 (runs in QEMU), or a path
## BENCH_SERVER=: the same, for the benchmarks. Servers are downloaded on first use.
## BENCH_PARTS=: reserved, growth, memory, steps, windows, sweep, bulk, tool, or some of them. BENCH_SIZES=10000,100000000: items.
## BENCH_SAVE=yes saves the tables of such runs too. See benches/server/main.rs.
## PEER=: another module's .so to compare with, on PEER_SERVER= (a path) or the same server
