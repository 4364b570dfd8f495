import { RedisPort } from './redis-link.ts';
import { isAbsent, listOf, textOf } from './script.ts';

type DisabledReason = 'gone' | 'failing';

/** State of a webhook endpoint outside its queue. Never its URL or secrets, which are configuration. */
export interface WebhookEndpointRecord {
  /** Position in the feed up to which deliveries are queued. Absent before the first read of the feed. */
  readonly cursor?: string;
  /** First failure after the last success, epoch milliseconds. */
  readonly failingSince?: number;
  readonly disabled?: { readonly reason: DisabledReason; readonly at: number };
}

/** Cursor and health of webhook endpoints, by name `<mcpServerId>.<endpointId>`. All methods throw StoreUnavailableError. */
export class RedisWebhookEndpointStore extends RedisPort {
  async read(endpoint: string): Promise<WebhookEndpointRecord> {
    const key = this.keys.webhookEndpoint(endpoint);
    const reply = listOf(await this.link.call('hmget', key, 'cursor', 'failingSince', 'disabled'));
    const [cursor, failingSince, disabled] = reply.map(value => (isAbsent(value) ? undefined : textOf(value)));
    const [, at, reason] = /^(\d+) (gone|failing)$/.exec(disabled ?? '') ?? [];
    return {
      cursor,
      ...(failingSince === undefined ? {} : { failingSince: Number(failingSince) }),
      ...(at === undefined ? {} : { disabled: { at: Number(at), reason: reason as DisabledReason } }),
    };
  }

  /** Returns false if the cursor is not at `from`: another replica has moved it and continues from there. */
  async moveCursor(endpoint: string, p: { readonly from: string | undefined; readonly to: string }): Promise<boolean> {
    const reply = await this.link.run(
      'moveWebhookCursor',
      { endpoint: this.keys.webhookEndpoint(endpoint) },
      { knownPosition: p.from, position: p.to },
      { repeatable: true },
    );
    return listOf(reply)[0] === 'moved';
  }

  async noteSuccess(endpoint: string): Promise<void> {
    await this.link.call('hdel', this.keys.webhookEndpoint(endpoint), 'failingSince');
  }

  /** @returns the time of the first failure since the last success; undefined if a success came in between */
  async noteFailure(endpoint: string, now: number): Promise<number | undefined> {
    await this.link.call('hsetnx', this.keys.webhookEndpoint(endpoint), 'failingSince', now);
    return (await this.read(endpoint)).failingSince;
  }

  /** Returns true only for the first of concurrent callers. */
  async disable(endpoint: string, p: { readonly reason: DisabledReason; readonly now: number }): Promise<boolean> {
    const value = `${p.now} ${p.reason}`;
    return (await this.link.call('hsetnx', this.keys.webhookEndpoint(endpoint), 'disabled', value)) === 1;
  }

  /** Clears the failures as well, because the next one would disable the endpoint again. @returns whether it was disabled */
  async enable(endpoint: string): Promise<boolean> {
    const key = this.keys.webhookEndpoint(endpoint);
    await this.link.call('hdel', key, 'failingSince');
    return (await this.link.call('hdel', key, 'disabled')) === 1;
  }
}
