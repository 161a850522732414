# Shortcuts for people who use make. The gate itself is .ci/run and needs no make.

FUZZTIME ?= 20s
BENCH ?= .
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build test full race lint fuzz mutants soak bench cover gate release

help: ## show this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST)

build: ## build the program into bin/
	go build -o bin/parley ./cmd/parley

test: ## the tests, as in the README
	go test ./...

full: ## the tests with the counts of docs/reliability.md
	PARLEY_PR=1 go test -count=1 -timeout 40m -p 1 ./...

race: ## the tests under the race detector, in random order
	go test -race -shuffle=on -short ./...

lint: ## go vet, staticcheck and gofmt
	go vet ./...
	go run $(STATICCHECK) ./...
	@files=$$(gofmt -l .); test -z "$$files" || { echo "gofmt would change:"; echo "$$files"; exit 1; }

fuzz: ## each fuzz target for FUZZTIME (20s)
	.ci/fuzz $(FUZZTIME)

mutants: ## forty bugs made by hand, each of which a test must find
	.ci/mutate

soak: ## the nightly counts of the seeded tests, at most an hour
	PARLEY_SOAK=1 go test -count=1 -timeout 60m ./...

bench: ## the benchmarks that match BENCH (all)
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

cover: ## statement coverage, as a list and in cover.html
	go test -coverprofile=cover.out ./...
	go tool cover -func=cover.out
	go tool cover -html=cover.out -o cover.html

gate: ## everything that must hold before a change is taken
	.ci/run

release: ## static binaries of the tag for six systems, with checksums, in dist/
	.ci/release
