/**
 * A replica that re-wraps and is killed right after it has sent the n-th replacement, before the response. Started by
 * rewrap.slow.test.ts with the Redis URL, n and the keys.
 */
import { createRedisStores } from '@postern/store-redis';
import { createKeyRing, createVault } from '@postern/vault';
import { z } from 'zod';
import { createLogger } from '../platform/logger.ts';
import { startRewrapper } from '../sealing/rewrapper.ts';
import { samplePseudonyms } from './sample-config.ts';

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
        // The command is written to the socket at the end of this turn of the event loop.
        if (isLast) setImmediate(() => setImmediate(() => process.kill(process.pid, 'SIGKILL')));
        return answer;
      },
    },
  },
  vault: createVault(createKeyRing(ring.map(({ kid, key }) => ({ kid, key: Buffer.from(key, 'base64') })))),
  logger: createLogger({ level: 'silent' }),
  pseudonym: samplePseudonyms,
  retryMs: 1,
  stepPauseMs: 1,
  leaseMs: 1_000,
});
// The timers of the re-wrapper do not keep the process alive.
setInterval(() => {}, 60_000);
