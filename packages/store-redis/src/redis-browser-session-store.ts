import type { BrowserSession, BrowserSessionId, BrowserSessionStore, NewBrowserSession } from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, elicitationId, encode, subject, text, time } from './records/record-layout.ts';
import type { RedisLink } from './redis-link.ts';
import { listOf, numberOf, textOf } from './reply.ts';

const browserSessionSchema = z.object({
  subject,
  origin: z.union([z.object({ identityProvider: text }), z.object({ vouchedBy: text })]),
  displayName: text,
  detail: text.exactOptional(),
  authTime: time.exactOptional(),
  provedFor: elicitationId.exactOptional(),
});

function encodeBrowserSession(browserSession: NewBrowserSession): string {
  const { id: _, ...rest } = browserSession;
  return encode(rest);
}

/** @throws DomainError `unknown_record_layout` */
function decodeBrowserSession(json: string) {
  return decode(browserSessionSchema, json);
}

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
    return { ...session, createdAt: numberOf(createdAt), endsAt: numberOf(endsAt) };
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
