#!/usr/bin/env bash
# need.sh NAME… makes sure that programs which the tests need are there. Root on Debian or Ubuntu gets them installed;
# anybody else gets told what to install. A missing program is a failure, never a skipped test.
set -euo pipefail

has() {
	case $1 in
	cc) command -v "${CC:-gcc}" ;;
	cxx) command -v "${CC:-gcc}" && command -v "${CXX:-g++}" ;;
	chromium) command -v "${CHROMIUM:-chromium}" || command -v chromium-browser || command -v google-chrome ;;
	*) command -v "$1" ;;
	esac >/dev/null
}

packages() {
	case $1 in
	cc) echo gcc libc6-dev ;;
	cxx) echo gcc g++ libc6-dev ;;
	chromium) echo chromium fonts-dejavu-core ;;
	*) echo "$1" ;;
	esac
}

for name in "$@"; do
	if has "$name"; then
		continue
	fi
	read -ra list <<<"$(packages "$name")"
	if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
		echo "installing ${list[*]}"
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${list[@]}" >/dev/null
	fi
	if ! has "$name"; then
		echo "need.sh: $name is missing; install it first (Debian: sudo apt-get install ${list[*]})" >&2
		exit 1
	fi
done
