#!/bin/sh
# Starts the Redis of docker-compose.yml (`single`), one Redis of infra/compose.ha.yml (`node`), or one Sentinel (`sentinel`). Redis does
# not read the environment, so this script fills in the passwords with shell built-ins: other users can read a program's arguments.
# Nodes and Sentinels keep their configuration in /data and update it, so the current master survives a restart.
set -eu
umask 077

# Prints the users whose names match, with their passwords.
users() {
  eval "cat <<USERS
$(grep -E "^user ($1) " /etc/postern/users.acl)
USERS"
}

case "$1" in
single)
  users 'default|postern' > /tmp/users.acl
  # Redis stores connections and open elicitations: it must not evict keys, and must restore them after a restart.
  cat > /tmp/redis.conf <<CONF
dir /data
aclfile /tmp/users.acl
appendonly yes
appendfsync everysec
maxmemory 512mb
maxmemory-policy noeviction
CONF
  exec redis-server /tmp/redis.conf
  ;;
node)
  users 'default|postern|replica|sentinel' > /tmp/users.acl
  if [ ! -e /data/redis.conf ]; then
    cat > /data/redis.conf <<CONF
dir /data
aclfile /tmp/users.acl
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
    if [ "$REDIS_NAME" != "$REDIS_FIRST_MASTER" ]; then echo "replicaof $REDIS_FIRST_MASTER 6379" >> /data/redis.conf; fi
  fi
  exec redis-server /data/redis.conf
  ;;
sentinel)
  if [ ! -e /data/sentinel.conf ]; then
    cat > /data/sentinel.conf <<CONF
port 26379
dir /data
requirepass $REDIS_SENTINEL_PASSWORD
sentinel sentinel-pass $REDIS_SENTINEL_PASSWORD
sentinel resolve-hostnames yes
sentinel announce-hostnames yes
sentinel announce-ip $REDIS_NAME
sentinel monitor postern $REDIS_FIRST_MASTER 6379 2
sentinel down-after-milliseconds postern 5000
sentinel failover-timeout postern 30000
sentinel auth-user postern sentinel
sentinel auth-pass postern $REDIS_SENTINEL_PASSWORD
CONF
  fi
  exec redis-server /data/sentinel.conf --sentinel
  ;;
esac
