#!/bin/sh
# Runs setup.mjs on the machine's own Node.js: the first one on the PATH that belongs to no package. pnpm puts node_modules/.bin
# first, and the pinned Node.js there may lack a library on this machine.
IFS=:
for folder in $PATH; do
  case $folder in
  */node_modules/.bin) ;;
  *) if [ -x "$folder/node" ]; then exec "$folder/node" "${0%/*}/setup.mjs" "$@"; fi ;;
  esac
done
exec node "${0%/*}/setup.mjs" "$@"
