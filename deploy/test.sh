#!/usr/bin/env bash
# All tests on the real stack: make test. The stack has its own folder and ports, so it does not
# touch a stack in use. It is stopped afterwards. Servers named by ADNET_TEST_POSTGRES,
# ADNET_TEST_REDIS, ADNET_TEST_KAFKA and ADNET_TEST_CLICKHOUSE are used instead of started.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/flags.sh
# Other people's data, which is not published: in CI no test may skip it where it is.
if [ "${CI:-}" = true ] && [ -d ../shared/data ]; then export ADNET_SHARED=required; fi
export ADNET_STACK_DIR=${ADNET_STACK_DIR:-$PWD/.adnet/test}
if [ "${1:-}" = --run ]; then # another command on the same stack
  shift
else
  deploy/chromium.sh
  deploy/web.sh --packages
  set -- go test -count=1 -timeout 20m "$@" "${all[@]}"
fi
go run ./lab/stack exec --down --ports=free -- "$@"
