#!/usr/bin/env bash
# lint.sh LINTER checks every module: linters, go vet, tidy go.mod, and generated code that is up to date. It goes on
# after a failure, to show all that is wrong, and fails in the end.
set -uo pipefail

linter=$1
root=$PWD
failed=0

check() {
	"$@" || failed=1
}

for module in $MODULES; do
	cd "$root/$module" || exit 1
	echo "lint: module $module"
	check "$linter" run -c "$root/.golangci.yml" ./...
	check go vet ./...
	check go mod tidy -diff
done
cd "$root" || exit 1

# Every package has a rule of its own, or its parent's, for what it may import.
has_import_rule() {
	local path=$1
	while [[ "$path" != . ]]; do
		grep -qF "\"**/$path/**.go\"" .golangci.yml && return
		path=$(dirname "$path")
	done
	return 1
}
for package in $(go list ./...); do
	path=${package#crest}
	if [[ -n "$path" ]] && ! has_import_rule "${path#/}"; then
		echo "lint: .golangci.yml has no import rule (depguard) for $package" >&2
		failed=1
	fi
done

# Generated code: only what git tracks counts, and changes that were there before don't.
if git rev-parse --git-dir >/dev/null 2>&1; then
	before=$(git diff | cksum)
	for module in $MODULES; do
		(cd "$module" && go generate ./...) || failed=1
	done
	if [[ "$(git diff | cksum)" != "$before" ]]; then
		echo "lint: generated code is not up to date; run 'make generate' and commit the result" >&2
		failed=1
	fi
else
	echo "lint: NOT CHECKED whether generated code is up to date: this is not a git checkout"
fi
exit "$failed"
