# `make help` lists the targets with their `##` comments, and the variables below them.

PORT ?= 6379
SERVER ?= redis-7.0
BENCH_SERVER ?= redis-8.0
MATRIX ?= redis-7.0 redis-8.0 redis-newest valkey-8.1 valkey-newest
PARTS ?= core server
SECONDS ?= 60
MINUTES ?= 10
PAYLOADS ?= 100000
TRIALS ?= 10000000
PROBES ?= 1e10
TEXT ?= README.md
PLOT ?= build/guard.svg
TARGET ?= aarch64-unknown-linux-gnu

BUILT := $(or $(CARGO_TARGET_DIR),target)
MODULE := $(BUILT)/release/libsplitbloom.so
MODULES := --package splitbloom --package splitsketch
PUBLISHED := $(addprefix --package splitbloom-,foundation filter partition client)
CORE := $(addprefix --package splitbloom-,foundation filter sketch grammar partition fuzz)
# Packages outside the workspace.
APART := tests/containers tests/clients/rust examples/guard fuzz/threads

export PEER PEER_SERVER

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## prints this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 } /^## / { print (n++ ? "  " : "\n  ") substr($$0, 4) }' $(MAKEFILE_LIST)

# The compiler is told the commit; after another one, only what reports it is compiled again.
module build cross: export SPLITBLOOM_BUILD = $(shell scripts/version --build)
module: toolchain
	cargo build --release $(MODULES)
	@chmod +x $(BUILT)/release/libsplit*.so # servers load only executable files
build: module ## builds the modules and the tool: target/release/libsplitbloom.so, libsplitsketch.so, splitbloom
	cargo build --release --package splitbloom-cli
cross: ## builds the modules for TARGET=: aarch64-unknown-linux-gnu, or x86_64-unknown-linux-musl for Alpine
	@scripts/with-target $(TARGET) cargo build --release --lib $(MODULES) --target $(TARGET)
	@chmod +x $(BUILT)/$(TARGET)/release/libsplit*.so
	@libc=$$(scripts/libc-of $(BUILT)/$(TARGET)/release/libsplit*.so) && $(if $(findstring musl,$(TARGET)),[ "$$libc" = musl ],echo "glibc $$libc")
run: module ## runs a server with the modules on 127.0.0.1 (PORT=6379, SERVER=)
	@scripts/run $(SERVER) $(PORT) $(MODULE)

# Tests.
test-core: ## tests the core alone, in seconds: no server, no libclang
	@scripts/need build-essential
	cargo test $(CORE)
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
test-python: module ## tests the Python package (SERVER=, FORKS=)
	@scripts/python-tests $(SERVER) $(MODULE)
test-aarch64: ## runs the core tests and some server tests for aarch64, in QEMU (installs a cross compiler and QEMU)
	@scripts/test-aarch64
matrix: module ## runs the server and fault tests on each server in MATRIX=
	@scripts/matrix $(MODULE) $(MATRIX)

# Packages and releases.
wheel: toolchain ## builds the Python package: build/wheel/splitbloom-*.whl
	@scripts/wheel build/wheel
wheel-test: wheel ## builds the Python package twice, to compare the bytes, and installs it on fresh Debian systems (needs root)
	@scripts/wheel-test bookworm trixie
package: toolchain ## builds a .deb, a .tar.gz and debug symbols, with checksums, in build/package
	@scripts/package
package-test: package ## installs, uses, upgrades and removes the .deb on fresh Debian systems (needs root)
	@scripts/package-test bookworm redis
	@scripts/package-test trixie valkey
distributions: toolchain ## builds source and binary packages as distributions do, in build/distributions
	@scripts/distributions
release: toolchain ## fills dist with a release, or a trial of one, from a clean work tree (TARGETS=, SIGN= a private key; an hour)
	@SIGN=$(SIGN) scripts/release $(TARGETS)
reproduce: toolchain ## builds the release a second time, elsewhere, and compares it with dist (TARGETS=)
	@scripts/reproduce $(TARGETS)
verify: ## checks the signature (KEY= a public key) and the checksums of dist
	@KEY=$(KEY) scripts/verify

# Long tests.
hostile: build ## loads PAYLOADS=100000 mutants of each kind of dump into a server (SERVER=, three quarters of an hour)
	@[ ! -d /dev/shm ] || export TMPDIR=/dev/shm; SPLITBLOOM_PAYLOADS=$(PAYLOADS) scripts/with-server $(SERVER) $(MODULE) cargo test --workspace --test server --test sketch hostile -- --nocapture
fuzz: toolchain ## runs the fuzz targets for SECONDS=60 each
	@scripts/fuzz $(SECONDS)
sanitize: toolchain ## runs the tests under AddressSanitizer and ThreadSanitizer (half an hour, SERVER=)
	@scripts/sanitize $(SERVER)
memcheck: build ## runs a few server tests with the whole server in valgrind (SERVER=)
	@scripts/memcheck $(SERVER) $(MODULE) hostile::chunks keyspace::
faults: build ## runs the long fault tests: 50 kills, 100 cuts (about five minutes)
	@SPLITBLOOM_FAULTS=long scripts/fault-tests $(SERVER) $(MODULE) --nocapture
models: build ## runs the tests of deletion, of time windows, of followers and of counts against models (TRIALS=10000000, MATRIX=; half an hour)
	@scripts/models $(TRIALS) $(MODULE) $(MATRIX)
soak: build ## runs random commands, kills and cuts against a model (MINUTES=10, SEED=)
	@MINUTES=$(MINUTES) SEED=$(SEED) scripts/with-server $(SERVER) $(MODULE) cargo test --release --test soak
# A server that loads an append-only file of tens of millions of items takes minutes.
migrate: build ## comes over from RedisBloom, each way (PEER= its module, PEER_SERVER=, FILTERS=60)
	@[ -n "$(PEER)" ] || { echo "PEER=: the module to come over from, such as redisbloom.so" >&2; exit 1; }
	@export SPLITBLOOM_PATIENCE_FACTOR=$${SPLITBLOOM_PATIENCE_FACTOR:-10}; scripts/with-server $(BENCH_SERVER) $(MODULE) cargo test --release --test migrate -- --nocapture --test-threads 1

# Demonstrations and measurements.
clients: build ## runs programs with some thirty client libraries, and tables them in docs/clients.md (SERVER=, needs root)
	@scripts/clients $(SERVER) $(MODULE)
demo: build ## puts 100 000 English words in a filter and spell-checks TEXT=README.md
	cargo build --release --example demo
	@words=$$(scripts/get-file bookworm wamerican usr/share/dict/american-english) && scripts/with-server $(SERVER) $(MODULE) cargo run --quiet --release --example demo -- "$$words" $(TEXT)
demo-guard: build ## attacks a database with and without a filter in front, and plots it (PLOT=build/guard.svg, two minutes)
	@scripts/with-server $(BENCH_SERVER) $(MODULE) scripts/cargo-apart examples/guard run --release -- $(PLOT)
bench: $(if $(filter-out core fpr,$(PARTS)),build,toolchain) ## measures PARTS="core server": see below (PEER=; a quarter of an hour)
	@BENCH_SECONDS=$(SECONDS) PROBES=$(PROBES) scripts/bench $(BENCH_SERVER) $(MODULE) $(PARTS)
report: toolchain ## updates the documentation's plots and tables from the last benchmarks
	cargo run --quiet --release --example report

# Images.
docker: ## builds the images splitbloom and splitbloom-modules, and their bases if no registry answers
	@scripts/make-image
docker-cluster: docker ## starts a cluster of six containers that forms itself; ports 7001 to 7006
	@scripts/run-cluster

# Static checks.
fmt: toolchain ## formats the sources
	cargo fmt --all
	@for folder in $(APART); do cargo fmt --manifest-path $$folder/Cargo.toml || exit; done
fmt-check: toolchain
	cargo fmt --all --check
	@for folder in $(APART); do cargo fmt --manifest-path $$folder/Cargo.toml --check || exit; done
	@! git ls-files '*.rs' | LC_ALL=C.UTF-8 xargs grep -nE '^.{101}' # rustfmt leaves comments and strings alone
lint: toolchain ## runs clippy; warnings are errors
	cargo clippy --all-targets --workspace --features injected-faults -- -D warnings
	scripts/cargo-apart tests/containers clippy --all-targets -- -D warnings
	scripts/cargo-apart examples/guard clippy --all-targets -- -D warnings
layers: ## checks what the lints cannot: dependencies between layers, panic guards
	@scripts/check-layers
yaml: toolchain ## checks the workflows for GitHub and the manifests for Kubernetes
	@scripts/check-yaml
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
check: fmt-check lint layers yaml deny docs crates ## runs all static checks: format, lint, layers, YAML, dependencies, docs, crates, races of threads
	@scripts/cargo-apart fuzz/threads run --release

clean: ## removes target and build
	cargo clean
	rm -rf build dist

# Debian packages that a target needs besides Rust. All goals are checked at once, before anything
# is built, and missing packages are installed. Steps that only root can do, or that a test can
# skip, ask for their packages in their own scripts.
needs := build-essential libclang-dev
needs-run := redis-tools
needs-demo-guard := postgresql
needs-clients := mmdebstrap
needs-package := dpkg-dev
needs-package-test := dpkg-dev
# Each architecture's binutils is in the archive of both.
needs-release := dpkg-dev openssl musl-tools binutils-aarch64-linux-gnu binutils-x86-64-linux-gnu
needs-reproduce := $(needs-release)
needs-distributions := debhelper lintian rpm
needs-memcheck := valgrind
needs-python := test test-python matrix wheel wheel-test clients memcheck sanitize yaml deny check release reproduce
needs-python += $(if $(filter python recipes recipes/%,$(PARTS)),bench)

toolchain:
	@scripts/need $(sort $(needs) $(foreach goal,$(MAKECMDGOALS),$(needs-$(goal)) $(if $(filter $(goal),$(needs-python)),python3-venv)))

## SERVER=, BENCH_SERVER= (for benchmarks): redis-7.0, redis-8.0, redis-newest, valkey-8.0, valkey-8.1, valkey-newest,
##   one of them with the suffix -arm64 (runs in QEMU), or a path. Servers are downloaded on first use.
## PARTS=: folders of benches (core server sketch follow big cluster), or parts of one (server/growth, big/transfer);
##   python; recipes, or recipes/crawl, recipes/feed, recipes/workers; bits (per item, and bytes per key);
##   fpr (false-positive rates, with PROBES=1e10 lookups a row: 45 minutes)
## ITEMS=: of big, cluster, follow, python and a part of recipes. BENCH_SIZES=10000,100000000: items of server and big. BENCH_ROUNDS=: of
##   server, sketch and follow. SECONDS=60: of follow. BENCH_SAVE=yes saves the tables of such runs too. See benches/*/main.rs.
## PEER=: another module's .so to compare with, on PEER_SERVER= (a path) or the same server
