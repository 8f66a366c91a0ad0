# shellcheck shell=bash disable=SC2034
# Sourced by every script that compiles: the build tags of adnet, and its packages. nomsgpack leaves out a codec of gin
# that adnet does not use.
case " ${GOFLAGS:-} " in
  *" -tags=nomsgpack "*) ;;
  *) export GOFLAGS="${GOFLAGS:+$GOFLAGS }-tags=nomsgpack" ;;
esac
# The packages of both modules: go vet ./... and its like do not cross into lab/.
all=(./... ./lab/...)
