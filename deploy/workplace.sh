# shellcheck shell=bash
# The folder in which the SDKs are built and tested, and what fills it. Sourced by packages.sh and
# sdks.sh, at the root of the repository.
work=$PWD/.adnet/sdks
# Installs the packages of a lock file unless they are present.
packages() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed" && return
  (cd "$1" && npm ci --ignore-scripts --loglevel=error >/dev/null)
  cp "$1/package-lock.json" "$1/node_modules/.installed"
}
# Copies a folder of the repository into .adnet, beside its packages.
workplace() {
  mkdir -p "$work/$1"
  find "$work/$1" -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
  tar -C "$1" --exclude=node_modules --exclude=dist -cf - . | tar -C "$work/$1" -xf -
}
