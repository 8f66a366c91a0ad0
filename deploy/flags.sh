# shellcheck shell=bash
# Sourced by every script that compiles: the build tags of adnet. nomsgpack leaves out a codec of gin
# that adnet does not use.
case " ${GOFLAGS:-} " in
  *" -tags=nomsgpack "*) ;;
  *) export GOFLAGS="${GOFLAGS:+$GOFLAGS }-tags=nomsgpack" ;;
esac
