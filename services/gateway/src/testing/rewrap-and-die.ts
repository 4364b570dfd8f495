/**
 * A replica that re-wraps and dies of it: killed right after it has sent the replacement named by its number, before the
 * answer is there. Started by rewrap.integration.test.ts with the Redis URL, the number and the keys.
 */
import { createRedisStores } from '@postern/store-redis';
import { createKeyRing, createVault } from '@postern/vault';
import { z } from 'zod';
import { createLogger } from '../logger.ts';
import { startRewrapper } from '../rewrapper.ts';

const [redisUrl = '', limit = '', keys = ''] = process.argv.slice(2);
const ring = z.array(z.object({ kid: z.string(), key: z.base64() })).parse(JSON.parse(keys));
const stores = await createRedisStores({ url: redisUrl });
const { sealedRecords, leases } = stores;
let replacements = 0;

startRewrapper({
  stores: {
    leases,
    sealedRecords: {
      walk: () => sealedRecords.walk(),
      replace(record, nextSealed) {
        replacements += 1;
        const isLast = replacements === Number(limit);
        const answer = sealedRecords.replace(record, nextSealed);
        // What is sent in one turn of the event loop leaves at its end.
        if (isLast) setImmediate(() => setImmediate(() => process.kill(process.pid, 'SIGKILL')));
        return answer;
      },
    },
  },
  vault: createVault(createKeyRing(ring.map(({ kid, key }) => ({ kid, key: Buffer.from(key, 'base64') })))),
  logger: createLogger({ level: 'silent' }),
  retryMs: 1,
  stepPauseMs: 1,
  leaseMs: 1_000,
});
// The pauses of the work keep no process alive.
setInterval(() => {}, 60_000);
