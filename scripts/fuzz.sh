#!/usr/bin/env bash
# fuzz.sh TIME runs every fuzz test of the main module for TIME each, one after the other.
set -euo pipefail

time=$1
for package in $(go list ./...); do
	for name in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "fuzz: $package $name"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package"
	done
done
