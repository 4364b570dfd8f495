/** Beginnings of the names of the rows that docs/sizing.md is computed from. `waiter` and `live` continue with a size. */
export const figures = {
  issue: 'issue',
  issueMemory: '  resident memory afterwards',
  read: 'read a fresh access token',
  cpu: '  its processor time',
  cycle: 'whole cycle: tools/call → −32042 → page POST → completion, 32 sessions',
  cycleGateway: '  of which the gateway',
  cycleRedis: '  processor time of Redis',
  cycleTraffic: '  bytes through the gateway: HTTP, Redis and log',
  idle: 'memory of an idle process (RSS), as in the image',
  waiter: 'memory of a waiting read, ',
  live: 'Redis memory of a live elicitation at ',
  page: 'first page load, static files compressed',
  ended: 'Redis memory of an ended elicitation, while it is kept',
  connected: 'Redis memory of a user with one connection, and the elicitation that created it',
} as const;
