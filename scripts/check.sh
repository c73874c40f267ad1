#!/usr/bin/env bash
# check.sh runs all that CI runs. A check that fails doesn't keep the next one from running; at the end stands what
# passed and what failed, and any failure makes the whole fail.
set -uo pipefail
: "${MODULES:?run this with 'make test'}"

names=() results=() seconds=()
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

check() {
	local name=$1 start=$SECONDS result=passed
	shift
	echo
	echo "=== $name"
	"$@" 2>&1 | tee -a "$log" || {
		result=FAILED
		failed=$((failed + 1))
	}
	names+=("$name") results+=("$result") seconds+=($((SECONDS - start)))
}

build() {
	for module in $MODULES; do
		[[ $module == oracle ]] && continue # DuckDB needs cgo
		(cd "$module" && CGO_ENABLED=0 go build ./...) || return 1
	done
}

module_test() {
	# shellcheck disable=SC2086 # TESTFLAGS is a list
	(cd "$1" && go test $TESTFLAGS ./...)
}

browser_test() {
	scripts/need.sh chromium && module_test e2e
}

oracle_test() {
	scripts/need.sh cxx && module_test oracle
}

check "build without cgo" build
check "lint" make --no-print-directory lint
check "unit tests" make --no-print-directory unit
check "unit tests with the race detector" make --no-print-directory race
[[ -f bench/go.mod ]] && check "benchmark's claims, small" module_test bench
[[ -f oracle/go.mod ]] && check "simulation and oracle, small" oracle_test
[[ -f e2e/go.mod ]] && check "page and binary in a browser" browser_test

echo
echo "=== summary"
for i in "${!names[@]}"; do
	printf '%-7s %5ds  %s\n' "${results[i]}" "${seconds[i]}" "${names[i]}"
done
grep 'NOT CHECKED' "$log"
echo "checks: $((${#names[@]} - failed)) passed, $failed failed"
[[ $failed -eq 0 ]]
