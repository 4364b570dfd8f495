import {
  type BrowserSession,
  type BrowserSessionId,
  type BrowserSessionOwner,
  type BrowserSessionStore,
  compareBrowserSessions,
  digestOf,
  isListedFor,
  type ListedBrowserSession,
  type LogoutTarget,
  MAX_BROWSER_SESSIONS,
  type NewBrowserSession,
  newOperationId,
  QuotaExceededError,
  type Shard,
  type StorageQuota,
  shardIn,
  shardOf,
  shardOfDigest,
  systemEntropy,
  vouchedBy,
} from '@postern/elicitation';
import { z } from 'zod';
import type { Keys } from './keys.ts';
import { decode, elicitationId, encode, shareText, subject, text, time } from './record-layout.ts';
import { RedisPort } from './redis-link.ts';
import { fieldsOf, isAbsent, listOf, numberOf, textOf } from './script.ts';

const browserSessionSchema = z.object({
  subject,
  origin: z.union([z.object({ identityProvider: text }), z.object({ vouchedBy: text })]),
  displayName: text,
  detail: text.optional(),
  authTime: time.optional(),
  provedFor: elicitationId.optional(),
  browser: text.optional(),
  logoutName: text.optional(),
  groups: z.array(text).optional(),
});

/** The digest of a session id. The other fields of the list are the times up to which sessions are over. */
const SESSION_NAME = /^[\w-]{43}$/;

/** Ends all sessions of the user, or those that one application vouched for. */
const SINCE_ALL = 'since';
const sinceOf = ({ origin }: Pick<BrowserSession, 'origin'>) =>
  'vouchedBy' in origin ? `since ${origin.vouchedBy}` : SINCE_ALL;

/** Ends the sessions that one identity provider signed in. No id of an MCP server contains `@`. */
const sinceAt = (identityProvider: string) => `since @${identityProvider}`;

function encodeBrowserSession(browserSession: NewBrowserSession): string {
  const { id: _, ...rest } = browserSession;
  return encode(rest);
}

/** @throws DomainError `unknown_record_layout` */
function decodeBrowserSession(json: string) {
  return decode(browserSessionSchema, json);
}

type SessionKeys = Pick<
  Keys,
  'browserSession' | 'browserSessionsOf' | 'browserSessionNamed' | 'loggedOut' | 'ledger' | 'none'
>;

export class RedisBrowserSessionStore extends RedisPort<SessionKeys> implements BrowserSessionStore {
  async create(
    session: NewBrowserSession,
    lifetime: { readonly idleMs: number; readonly absoluteMs: number },
    quota?: StorageQuota,
  ): Promise<BrowserSession> {
    const shard = shardIn(session.id);
    const voucher = vouchedBy(session);
    if ((voucher === undefined) !== (quota === undefined)) throw new TypeError('An application pays for its users.');
    const reply = await this.repeatable(
      'createBrowserSession',
      {
        browserSession: this.keys.browserSession(session.id),
        browserSessionsOf: this.#listOf(session),
        ledger: this.#ledgerOf(shard, session),
      },
      {
        record: encodeBrowserSession(session),
        idleMs: lifetime.idleMs,
        absoluteMs: lifetime.absoluteMs,
        name: digestOf(session.id),
        max: MAX_BROWSER_SESSIONS,
        voucher,
        share: quota && shareText(quota),
      },
    );
    const [result, first, endsAt, ...ended] = listOf(reply);
    if (result === 'over_quota') throw new QuotaExceededError(voucher ?? '', numberOf(first));
    // They are over since the commit. If this process dies here, their records expire.
    await this.#remove(shard, ended.map(textOf));
    return { ...session, createdAt: numberOf(first), endsAt: numberOf(endsAt) };
  }

  async read(id: BrowserSessionId): Promise<BrowserSession | undefined> {
    const found = await this.#read(shardIn(id), digestOf(id));
    return found === undefined ? undefined : { ...found, id };
  }

  async list(owner: BrowserSessionOwner): Promise<readonly ListedBrowserSession[]> {
    const shard = shardOf(owner.subject);
    const names = fieldsOf(await this.link.call('hgetall', this.#listOf(owner)))
      .map(([name]) => name)
      .filter(name => SESSION_NAME.test(name));
    const found = await Promise.all(
      names.map(async name => {
        const browserSession = await this.#read(shard, name);
        return browserSession === undefined ? undefined : { ...browserSession, name };
      }),
    );
    return found
      .filter(browserSession => browserSession !== undefined)
      .filter(browserSession => isListedFor(owner, browserSession))
      .sort(compareBrowserSessions);
  }

  async endAll(owner: BrowserSessionOwner & Partial<Pick<BrowserSession, 'id'>>, absoluteMs: number): Promise<void> {
    const shard = shardOf(owner.subject);
    const own = owner.id === undefined ? undefined : digestOf(owner.id);
    const others = (await this.list(owner)).filter(({ name }) => name !== own);
    // Records name the user, so they go first: after a failure, the user is still signed in to repeat it.
    await this.#remove(
      shard,
      others.map(({ name }) => name),
    );
    await this.repeatable(
      'endBrowserSessions',
      {
        ends: this.#listOf(owner),
        own: own === undefined ? this.keys.none(shard) : this.keys.browserSessionNamed(shard, own),
      },
      { field: sinceOf(owner), absoluteMs, report: undefined, operationId: undefined, rememberMs: undefined },
    );
  }

  async logOut(
    target: LogoutTarget,
    p: { readonly token: string; readonly rememberMs: number; readonly absoluteMs: number },
  ): Promise<boolean> {
    const [shard, key, field] =
      'logoutName' in target
        ? [shardOfDigest(target.logoutName), this.keys.loggedOut(target.logoutName), SINCE_ALL]
        : [shardOf(target.subject), this.#listOf(target), sinceAt(target.identityProvider)];
    const reply = await this.repeatable(
      'endBrowserSessions',
      { ends: key, own: this.keys.none(shard) },
      {
        field,
        absoluteMs: p.absoluteMs,
        report: p.token,
        operationId: newOperationId(systemEntropy),
        rememberMs: p.rememberMs,
      },
    );
    return listOf(reply)[0] !== 'replayed';
  }

  async touch(id: BrowserSessionId): Promise<void> {
    await this.repeatable('touchBrowserSession', { browserSession: this.keys.browserSession(id) }, {});
  }

  async end(id: BrowserSessionId): Promise<void> {
    const [shard, found] = [shardIn(id), await this.read(id)];
    const none = this.keys.none(shard);
    // Also one that is over: an earlier call may have ended it without a confirmation of the replicas.
    await this.repeatable(
      'endBrowserSession',
      {
        browserSession: this.keys.browserSession(id),
        browserSessionsOf: found === undefined ? none : this.#listOf(found),
        ledger: found === undefined ? none : this.#ledgerOf(shard, found),
      },
      { name: digestOf(id) },
    );
  }

  /** Two rounds, because the session names its user. Ending all sessions is one write, and later reads see it. */
  async #read(shard: Shard, name: string): Promise<Omit<BrowserSession, 'id'> | undefined> {
    const key = this.keys.browserSessionNamed(shard, name);
    const [record, created, ends] = listOf(await this.repeatable('readBrowserSession', { browserSession: key }, {}));
    if (record === undefined) return undefined;
    const times = { createdAt: numberOf(created), endsAt: numberOf(ends) };
    const browserSession = { ...decodeBrowserSession(textOf(record)), ...times };
    const { origin, logoutName } = browserSession;
    const fields = [
      ...[name, SINCE_ALL, sinceOf(browserSession)],
      ...('identityProvider' in origin ? [sinceAt(origin.identityProvider)] : []),
    ];
    const [ofUser, ofProvider] = await Promise.all([
      this.link.call('hmget', this.#listOf(browserSession), ...fields),
      logoutName === undefined ? [] : this.link.call('hmget', this.keys.loggedOut(logoutName), SINCE_ALL),
    ]);
    const [listed, ...ended] = [...listOf(ofUser), ...listOf(ofProvider)];
    // One that is not listed was replaced by newer ones.
    if (isAbsent(listed)) return undefined;
    return ended.some(at => !isAbsent(at) && times.createdAt <= numberOf(at)) ? undefined : browserSession;
  }

  async #remove(shard: Shard, names: readonly string[]): Promise<void> {
    await Promise.all(names.map(name => this.link.call('del', this.keys.browserSessionNamed(shard, name))));
  }

  #ledgerOf(shard: Shard, { origin }: Pick<BrowserSession, 'origin'>): string {
    return 'vouchedBy' in origin ? this.keys.ledger(shard, origin.vouchedBy) : this.keys.none(shard);
  }

  #listOf({ subject }: Pick<BrowserSession, 'subject'>): string {
    return this.keys.browserSessionsOf(shardOf(subject), subject);
  }
}
