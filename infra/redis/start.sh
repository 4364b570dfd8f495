#!/bin/sh
# Starts the Redis of docker-compose.yml (`single`), one Redis of infra/compose.ha.yml (`node`), or one Sentinel (`sentinel`). Redis does
# not read the environment, so this script fills in the passwords with shell built-ins: other users can read a program's arguments.
# Nodes and Sentinels keep their configuration in the data folder and update it, so the current master survives a restart.
#
# The defaults are those of the containers. Elsewhere, the environment names the data folder (REDIS_DATA), a private folder for files that a
# restart writes again (REDIS_RUN), the port (REDIS_PORT), and the port of the first master (REDIS_FIRST_MASTER_PORT).
set -eu
umask 077
data=${REDIS_DATA:-/data}
run=${REDIS_RUN:-/tmp}
first_master="${REDIS_FIRST_MASTER:-} ${REDIS_FIRST_MASTER_PORT:-6379}"
shipped=$(dirname "$0")

# Prints the users whose names match, with their passwords.
users() {
  eval "cat <<USERS
$(grep -E "^user ($1) " "$shipped/users.acl")
USERS"
}

case "$1" in
single)
  users 'default|postern' > "$run/users.acl"
  # Redis stores connections and open elicitations: it must not evict keys, and must restore them after a restart.
  cat > "$run/redis.conf" <<CONF
dir "$data"
port ${REDIS_PORT:-6379}
aclfile "$run/users.acl"
appendonly yes
appendfsync everysec
maxmemory 512mb
maxmemory-policy noeviction
CONF
  exec redis-server "$run/redis.conf"
  ;;
node)
  users 'default|postern|replica|sentinel' > "$run/users.acl"
  if [ ! -e "$data/redis.conf" ]; then
    cat > "$data/redis.conf" <<CONF
dir "$data"
port ${REDIS_PORT:-6379}
aclfile "$run/users.acl"
masteruser replica
masterauth $REDIS_REPLICA_PASSWORD
replica-announce-ip $REDIS_NAME
appendonly yes
appendfsync always
maxmemory 512mb
maxmemory-policy noeviction
min-replicas-to-write 1
min-replicas-max-lag 10
CONF
    if [ "$REDIS_NAME ${REDIS_PORT:-6379}" != "$first_master" ]; then echo "replicaof $first_master" >> "$data/redis.conf"; fi
  fi
  exec redis-server "$data/redis.conf"
  ;;
sentinel)
  if [ ! -e "$data/sentinel.conf" ]; then
    cat > "$data/sentinel.conf" <<CONF
port ${REDIS_PORT:-26379}
dir "$data"
requirepass $REDIS_SENTINEL_PASSWORD
sentinel sentinel-pass $REDIS_SENTINEL_PASSWORD
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $REDIS_NAME
sentinel monitor postern $first_master 2
sentinel down-after-milliseconds postern 5000
sentinel failover-timeout postern 30000
sentinel auth-user postern sentinel
sentinel auth-pass postern $REDIS_SENTINEL_PASSWORD
CONF
  fi
  exec redis-server "$data/sentinel.conf" --sentinel
  ;;
esac
