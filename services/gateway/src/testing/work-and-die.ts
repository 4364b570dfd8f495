/**
 * A replica that works on the jobs of operators and is killed right after it has sent the n-th removal, before the response. Started by
 * jobs.test.ts with the Redis URL, the path of the configuration and n.
 */
import { createRedisStores } from '@postern/store-redis';
import { commandProcess } from '../admin/admin-audit.ts';
import { startJobRunner } from '../admin/job-runner.ts';
import { registerMcpServers } from '../mcp-servers/registered-mcp-server.ts';
import { pseudonymsOf } from '../platform/audit/audit-log.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { createLogger } from '../platform/logger.ts';

const [redisUrl = '', configPath = '', limit = ''] = process.argv.slice(2);
const config = loadConfig(configPath, {});
const stores = await createRedisStores({ url: redisUrl, prefix: config.redis.prefix });
const remove = stores.connections.remove.bind(stores.connections);
let removals = 0;
stores.connections.remove = p => {
  removals += 1;
  const answer = remove(p);
  // Two turns later, the command is on the wire.
  if (removals === Number(limit)) setImmediate(() => setImmediate(() => process.kill(process.pid, 'SIGKILL')));
  return answer;
};

startJobRunner({
  stores,
  network: undefined,
  adminProcess: commandProcess({ stores, pseudonym: pseudonymsOf(config), print: () => {}, now: Date.now }),
  logger: createLogger({ level: 'silent' }),
  config,
  mcpServers: registerMcpServers(config),
  leaseMs: 1_000,
  pollMs: 1,
});
// The timers of the runner do not keep the process alive.
setInterval(() => {}, 60_000);
