#!/bin/sh
set -eu
# The services of the server find each other by the address of the container.
TEMPORAL_BROADCAST_ADDRESS="$(getent hosts "$(hostname)" | cut -d' ' -f1)"
export TEMPORAL_BROADCAST_ADDRESS
exec temporal-server start
