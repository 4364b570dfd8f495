#!/bin/sh
# Starts one Redis of infra/compose.ha.yml, or one Sentinel. Their configuration lies in /data, because they change it themselves:
# who is the master survives a restart. Redis reads no environment, so the passwords are filled in here.
set -eu
umask 077

users() {
  sed -e "s/\${REDIS_PASSWORD}/$REDIS_PASSWORD/" -e "s/\${REDIS_REPLICA_PASSWORD}/$REDIS_REPLICA_PASSWORD/" \
    -e "s/\${REDIS_SENTINEL_PASSWORD}/$REDIS_SENTINEL_PASSWORD/" /etc/postern/users.acl
}

case "$1" in
node)
  users > /tmp/users.acl
  if [ ! -e /data/redis.conf ]; then
    cat > /data/redis.conf <<CONF
dir /data
aclfile /tmp/users.acl
masteruser replica
masterauth $REDIS_REPLICA_PASSWORD
replica-announce-ip $REDIS_NAME
appendonly yes
appendfsync always
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
