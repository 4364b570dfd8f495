import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { type PaymentEventType, parseElicitationId, SHARDS } from '@postern/elicitation';
import { createRedisStores, openQueueRedis, type RedisAddress, type RedisStores } from '@postern/store-redis';
import { listenHttp } from '@postern/testkit/providers';
import { Webhook } from 'standardwebhooks';
import { openDeliveryQueue } from '../events/webhooks/delivery-queue.ts';
import { openWebhooks, type WebhooksOptions } from '../events/webhooks/webhooks.ts';
import { createAuditLog } from '../platform/audit/audit-log.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { createLogger } from '../platform/logger.ts';
import { sampleMcpServer, samplePseudonyms } from './sample-config.ts';
import { type EndpointInput, quickPace, webhooksConfig } from './webhooks-config.ts';

const isOfPayment = (happened: string): happened is PaymentEventType => happened.startsWith('payment.');

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

export interface ReceivedWebhook {
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Starts a receiver that records webhooks and responds with the status of `answer`. */
export async function startReceiver(
  answer: (nth: number, response: ServerResponse) => number | undefined = () => 204,
  p: { readonly port?: number } = {},
) {
  const received: ReceivedWebhook[] = [];
  const listener = await listenHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = plain(request.headers);
      received.push({ id: headers['webhook-id'] ?? '', headers, body: Buffer.concat(chunks).toString() });
      const status = answer(received.length, response);
      if (status !== undefined) response.writeHead(status).end();
    });
  }, p);
  return {
    received,
    url: `http://127.0.0.1:${listener.port}/hooks`,
    port: listener.port,
    ids: () => received.map(({ id }) => id),
    /** Returns the verified payloads. Throws on an invalid signature. */
    verifiedWith: (secret: string) => received.map(({ body, headers }) => new Webhook(secret).verify(body, headers)),
    close: () => listener.close(),
    [Symbol.asyncDispose]: () => listener.close(),
  };
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** A Redis key space with a feed, over which tests start the webhooks of any number of replicas. */
export async function webhookStage(p: {
  readonly address: RedisAddress;
  readonly prefix: string;
  readonly kept?: number;
}) {
  const { address, prefix } = p;
  const stores = await createRedisStores({
    ...address,
    prefix,
    feed: p.kept === undefined ? undefined : { events: p.kept },
  });
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const logger = createLogger({ level: 'debug', destination });
  const feed = feedWriter(stores);

  return {
    stores,
    lines,
    publish: feed.publish,
    /** Counts the deliveries of an endpoint by state. */
    async counts(endpoint: string) {
      const queueRedis = openQueueRedis({ address, prefix });
      const queue = openDeliveryQueue({ endpoint, redis: queueRedis, onError: () => {} });
      try {
        return await queue.counts();
      } finally {
        await queue.close();
        queueRedis.close();
      }
    },
    logged: (event: string) => lines.filter(line => line.includes(`"event":"${event}"`)),
    async start(endpoints: readonly EndpointInput[], options: Partial<WebhooksOptions> = {}) {
      const redis = options.redis ?? openQueueRedis({ address, prefix });
      const webhooks = await openWebhooks({
        config: parseConfig(webhooksConfig({ prefix }, endpoints)),
        feed: stores.feeds,
        stores,
        logger,
        auditLog: createAuditLog(logger, samplePseudonyms),
        now: Date.now,
        pace: quickPace,
        ...options,
        redis,
      });
      webhooks.start();
      return {
        ...webhooks,
        async stop() {
          await webhooks.stop();
          redis.close();
        },
      };
    },
    [Symbol.asyncDispose]: () => stores.close(),
  };
}

/** Writes events to the feed as the relay does. */
function feedWriter(stores: Pick<RedisStores, 'outbox'>) {
  let position = 0;
  return {
    async publish(count: number, happened: 'completed' | 'declined' | 'active' | PaymentEventType = 'completed') {
      const entries = Array.from({ length: count }, () => {
        const elicitationId = parseElicitationId(`el_${SHARDS[7]}${randomBytes(32).toString('base64url')}`);
        if (elicitationId === undefined) throw new TypeError('not an id');
        position += 1;
        return {
          position: `${position}-0`,
          occurredAt: Date.now(),
          event: {
            eventId: `ev_${elicitationId.slice(3)}.3`,
            type: isOfPayment(happened) ? happened : (`elicitation.${happened}` as const),
            elicitationId,
            mcpServerId: sampleMcpServer.id,
            kind: 'authorization' as const,
          },
        };
      });
      for (let at = 0; at < count; at += 250)
        await stores.outbox.carry(sampleMcpServer.id, entries.slice(at, at + 250));
      return entries.map(({ event }) => event.eventId);
    },
  };
}
