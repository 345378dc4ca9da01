# The two commands for a fresh machine: `go run ./demo` and `make test`.
BINARY      := kafka_connection_exporter
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION    ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
VERSION_PKG := github.com/prometheus/common/version
LDFLAGS     := -s -w -X $(VERSION_PKG).Version=$(VERSION) -X $(VERSION_PKG).Revision=$(REVISION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 60s

# Go wants a home for its caches. Where there is none, as in a bare container, it is here, and can be removed.
ifndef HOME
export HOME := $(CURDIR)/.cache/home
export GOFLAGS := -modcacherw
endif

GOTEST      := go test -race -shuffle=on

.PHONY: all build test unit e2e lint alerts fuzz model bench soak tansu nightly demo image man clean

all: lint build test

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "$(LDFLAGS)" -o $(BINARY) .

# Everything that this machine can run. It needs Go only, and says at its end what it left out and what would bring it.
test:
	@go run ./tools/test

unit:
	$(GOTEST) ./...
	cd bench && go test -count=1 ./...

# Random histories of a cluster against the manager's model: the ordinary tests go through a few of them.
model:
	go test -count=1 -timeout 30m -run '^TestModel$$' ./manager -model.runs 5000 -model.from 1000

# Real Apache Kafka on loopback, as child processes; the jars are fetched once, into .cache/.
e2e:
	$(GOTEST) -count=1 -timeout 30m -tags e2e ./e2e/...

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi
	go vet ./...
	go vet -tags 'e2e nightly' ./...
	cd bench && go vet ./...
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags 'e2e nightly' ./e2e/...

# The alerting rules and their unit tests, and the queries of the dashboard. promtool and amtool are Debian packages.
alerts:
	@command -v promtool >/dev/null && command -v amtool >/dev/null || { \
		echo "make alerts needs promtool and amtool (Debian: apt-get install prometheus prometheus-alertmanager)"; exit 1; }
	promtool check rules alerts/rules.yml
	promtool test rules alerts/tests/*.yml
	amtool check-config alerts/alertmanager.yml
	go test -count=1 ./alerts ./dashboards ./runbooks

# Every fuzz target for FUZZTIME, one after the other. An input that fails is kept in the package's testdata/fuzz.
fuzz:
	@set -e; for target in $$(grep -ho '^func Fuzz[A-Za-z]*' */*_test.go | cut -d' ' -f2); do \
		package=./$$(dirname $$(grep -l "^func $$target(" */*_test.go)); \
		echo "== $$package $$target"; \
		go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package; \
	done

# The figures of BENCHMARKS.md, and those of single functions.
bench:
	go test -run '^$$' -bench . -benchmem ./manager ./collector
	cd bench && go run . -write ../BENCHMARKS.md

# The soak test for ten minutes; in the ordinary tests it takes ten seconds.
soak:
	go test -count=1 -timeout 20m -run '^TestSoak$$' -v ./lab -lab.soak 10m

# A second implementation of Kafka, for the test on it; 8 minutes at first, then it is there.
TANSU := .cache/tansu/bin/tansu

tansu: $(TANSU)

$(TANSU):
	cargo install tansu --version 0.6.0 --locked --features dynostore --root .cache/tansu

# What takes too long for every change.
nightly: fuzz model soak tansu
	$(GOTEST) -count=1 -tags 'e2e nightly' -run '^TestCaseC53Tansu$$' ./e2e

demo:
	go run ./demo

# The final stage of the Dockerfile with a binary that was built here, for machines that cannot pull base images.
image: build
	deploy/image.sh $(BINARY)

# Made from the flags: a man page, and completion for bash and zsh. Kingpin's own title of the page would have the version's five lines.
man: build
	@mkdir -p dist
	{ printf '.TH %s 1 "" "%s"\n' $(BINARY) "$(VERSION)"; ./$(BINARY) --help-man | sed -n '/^\.SH/,$$p'; } > dist/$(BINARY).1
	./$(BINARY) --completion-script-bash > dist/$(BINARY).bash
	./$(BINARY) --completion-script-zsh > dist/_$(BINARY)

clean:
	rm -rf $(BINARY) dist
