/**
 * A replica that delivers webhooks and is killed at a named point. Started by webhooks-killed.slow.test.ts with the Redis URL,
 * the key prefix, the URL of the receiver, the secret and the point. Prints `ready`.
 */
import { createRedisStores, openQueueRedis } from '@postern/store-redis';
import { z } from 'zod';
import { openWebhooks } from '../events/webhooks/webhooks.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { createLogger } from '../platform/logger.ts';
import { killedPace, webhooksConfig } from './webhooks-config.ts';

const [url = '', prefix = '', receiver = '', secret = '', named] = process.argv.slice(2);
const point = z.enum(['answered', 'read', 'queued', 'cursor_sent']).parse(named);
const stores = await createRedisStores({ url, prefix });
const { feeds, webhookEndpoints } = stores;
const die = () => process.kill(process.pid, 'SIGKILL');

const webhooks = await openWebhooks({
  config: parseConfig(webhooksConfig({ url, prefix }, [{ id: 'hook', url: receiver, secrets: [secret] }])),
  feed: {
    newest: mcpServerId => feeds.newest(mcpServerId),
    watch: mcpServerId => feeds.watch(mcpServerId),
    async read(mcpServerId, p) {
      const page = await feeds.read(mcpServerId, p);
      if (point === 'read' && page.result === 'events' && page.events.length > 0) die();
      return page;
    },
  },
  stores: {
    leases: stores.leases,
    passkeyAnnouncements: stores.passkeyAnnouncements,
    webhookEndpoints: {
      read: endpoint => webhookEndpoints.read(endpoint),
      noteFailure: (endpoint, now) => webhookEndpoints.noteFailure(endpoint, now),
      disable: (endpoint, p) => webhookEndpoints.disable(endpoint, p),
      // The receiver has responded 2xx; the queue has not recorded it.
      async noteSuccess(endpoint) {
        if (point === 'answered') die();
        return webhookEndpoints.noteSuccess(endpoint);
      },
      async moveCursor(endpoint, p) {
        if (point === 'queued' && p.from !== undefined) die();
        const moved = webhookEndpoints.moveCursor(endpoint, p);
        // The command is written to the socket at the end of this turn of the event loop.
        if (point === 'cursor_sent' && p.from !== undefined) setImmediate(() => setImmediate(die));
        return moved;
      },
    },
  },
  redis: openQueueRedis({ address: { url }, prefix }),
  logger: createLogger({ level: 'silent' }),
  auditLog: { record: () => {} },
  now: Date.now,
  pace: killedPace,
});
webhooks.start();
process.stdout.write('ready\n');
