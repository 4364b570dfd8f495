import {
  type BrowserSession,
  type BrowserSessionId,
  type BrowserSessionStore,
  type NewBrowserSession,
  RECORD_LAYOUT,
} from '@postern/elicitation';
import type { Keys } from './keys.ts';
import { decodeBrowserSession, encodeBrowserSession } from './records/browser-session-record.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf } from './reply.ts';

export class RedisBrowserSessionStore implements BrowserSessionStore {
  readonly #link: RedisLink;
  readonly #keys: Keys;

  constructor(link: RedisLink, keys: Keys) {
    this.#link = link;
    this.#keys = keys;
  }

  async create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
  ): Promise<BrowserSession> {
    const reply = await this.#link.run(
      'createBrowserSession',
      [this.#keys.browserSession(session.id)],
      [this.#link.clock(), encodeBrowserSession(session), lifetime.idleMs, lifetime.absoluteMs],
      { repeatable: true },
    );
    const [createdAt, endsAt] = listOf(reply);
    return { ...session, layout: RECORD_LAYOUT, createdAt: numberOf(createdAt), endsAt: numberOf(endsAt) };
  }

  async read(id: BrowserSessionId): Promise<BrowserSession | undefined> {
    const reply = await this.#link.run('readBrowserSession', [this.#keys.browserSession(id)], [this.#link.clock()]);
    const [record, createdAt, endsAt] = listOf(reply);
    if (record === undefined) return undefined;
    return {
      ...decodeBrowserSession(textOf(record)),
      id,
      createdAt: numberOf(createdAt),
      endsAt: numberOf(endsAt),
    };
  }

  async touch(id: BrowserSessionId): Promise<void> {
    await this.#link.run('touchBrowserSession', [this.#keys.browserSession(id)], [this.#link.clock()]);
  }

  async end(id: BrowserSessionId): Promise<void> {
    await this.#link.callFor('endBrowserSession', 'del', this.#keys.browserSession(id));
  }
}
