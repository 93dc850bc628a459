#!/bin/sh
set -eu
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$data" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth-host=scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
fi
exec postgres -D "$data" -c 'listen_addresses=*' -k /tmp
