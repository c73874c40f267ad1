#!/usr/bin/env bash
# install.sh FILE MODULE VERSION puts the pinned version of a Go tool at FILE: a link when the machine has that very
# version, otherwise built from source.
set -euo pipefail

file=$1 module=$2 version=$3
name=${module##*/}
mkdir -p "$(dirname "$file")"
if found=$(command -v "$name") && [[ "$("$found" version --short 2>/dev/null)" == "$version" ]]; then
	ln -sf "$found" "$file"
	exit
fi
echo "installing $name $version (once; it takes a minute or two)"
GOBIN=$(dirname "$file") GOFLAGS=-buildvcs=false go install "$module@v$version"
mv "$(dirname "$file")/$name" "$file"
