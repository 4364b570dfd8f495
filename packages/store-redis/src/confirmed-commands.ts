import type { CommandName } from './commands.ts';

/**
 * Which answers have to be confirmed by replicas (profile `ha`) before anybody acts on them: the one place where that is decided.
 *
 * - `always`: somebody is told, or goes on as if it were so for ever. That a repeat found the work done says nothing about the
 *   replicas, so every answer of such a verb counts, whatever it is.
 * - `apart`: the write that follows confirms it as well, because what is older on the same master is older in the same
 *   stream. Only on a cluster, where the two may lie on different masters, it is confirmed by itself.
 * - `never`: losing it costs time or a repeat, never a promise.
 * - a function: depends on what was read.
 * - `oncePer`: the first time that this process meets this version of what lies there; always where there is none.
 */
export type ConfirmationRule =
  | 'always'
  | 'apart'
  | 'never'
  | ((answer: readonly unknown[]) => boolean)
  | { readonly oncePer: (answer: readonly unknown[]) => string | undefined };

const ends: ReadonlySet<unknown> = new Set(['completed', 'failed', 'declined', 'cancelled', 'expired']);
const isAnything = (answer: readonly unknown[]) => answer.length > 0;

export const confirmedCommands: Record<CommandName, ConfirmationRule> = {
  // The 201, and the 200 for one that was there: whoever made that one may have been told nothing.
  createElicitation: 'always',
  // Ends are promises, and so is `charging`, which goes before a charge. A lost step before those would be asked for twice.
  transitionElicitation: 'always',
  // Handed out once: forgetting that would hand it out to another.
  redeemElicitation: 'always',
  // Only when it is looked at again.
  postponeElicitation: 'never',
  dueElicitations: 'never',
  // Of open ones, and those promise nothing.
  openElicitations: 'never',

  // Forgetting who refreshes lets two do it, and with rotating tokens that ends the grant.
  beginRefresh: 'always',
  // The old refresh token is spent: what replaces it must not vanish once the access token is handed out.
  finishRefresh: 'always',
  postponeRefresh: 'never',
  // Its answer may be another token set, to be handed out.
  markLost: 'always',
  noteUse: 'never',
  // The person is told that it is gone.
  removeConnection: 'always',
  removeCredential: 'always',
  addPasskey: 'always',
  // Forgotten, a passkey that its person has lost counts again, and a new one counts at once.
  resetPasskeys: 'always',
  removePasskey: 'always',
  // What it is used for commits in the same slot right after it.
  usePasskey: 'never',

  // If the note is lost, the gateway reports the payment again.
  notePayment: 'never',
  // What is not asked about meanwhile is asked about at the end of its time.
  checkCharge: 'never',
  dueCharges: 'never',

  // Nobody else knows that this grant is to be ended.
  addRevocation: 'always',
  dueRevocations: 'never',
  claimRevocation: 'never',
  // Told once more, the provider knows it already.
  finishRevocation: 'never',
  postponeRevocation: 'never',

  // A key is retired when nothing is left under it, so nothing may come back.
  replaceSealed: 'always',
  // Tokens will be issued to this registration, on whatever master they lie.
  putRegistration: 'always',
  removeRegistration: 'never',

  // The cursor of the outbox moves on what the feed has, and those may lie on different masters.
  carryEvents: 'always',
  // What was read is told, and the reader goes on from its position.
  readFeed: ([result, ...events]) => result === 'events' && events.length > 0,
  // Carried twice, the feed skips it.
  moveCursor: 'never',
  // Follows the deliveries on their own master, and lost with them it queues them once more.
  moveWebhookCursor: 'never',
  // Whatever is done under a lease is harmless when two do it.
  takeLease: 'never',
  releaseLease: 'never',

  readOneTime: 'never',
  // Once means once: the code is exchanged next, or a foreign browser has burnt it.
  consumeOneTime: 'always',
  // A lost browser session is signed in again.
  createBrowserSession: 'never',
  readBrowserSession: 'never',
  touchBrowserSession: 'never',

  // The name under which the ask is made. With it, everything after it is repeated under the same operation id.
  beginIdempotency: 'apart',
  // Without it, the repeat finds what was done and answers the same.
  finishIdempotency: 'never',
  abandonIdempotency: 'never',

  // Looks for loss, and what it finds is compared with what was confirmed.
  inspectShard: 'never',
};

/** Single commands by what they are for; all others are never confirmed. */
export const confirmedCalls = {
  // An end that was told must not be taken back, and a master that was cut off must not deny what the others know. What is
  // open promises nothing.
  readElicitation: ([status]) => status === null || status === undefined || ends.has(status),
  // Somebody else's refresh may not be confirmed yet, and its access token is handed out next. What is gone is told to be gone.
  readConnection: { oncePer: ([generation, createdAt]) => (generation ? `${createdAt} ${generation}` : undefined) },
  // What is gone is told to be gone, whoever removed it. What is there was confirmed by the end that brought it.
  readCredential: ([found]) => found === null || found === undefined,
  // Before it is carried to a feed on whatever master.
  readOutbox: isAnything,
  // Where a reader begins who wants nothing older.
  readFeedEnd: isAnything,
  // Signed out must stay signed out, also for whoever has copied the cookie.
  endBrowserSession: 'always',
  // Once means once: sign-ins, tickets and ceremonies.
  claimOneTime: 'always',
  // A replica without it would be taken for one that has lost its data.
  putEpoch: 'always',
} satisfies Record<string, ConfirmationRule>;

export type ConfirmedCall = keyof typeof confirmedCalls;

/** How many things a process remembers to have confirmed as they are. */
const KEEP = 10_000;

/** Decides on answers, and remembers those that are confirmed once and for all. */
export class ConfirmationRules {
  readonly #isCluster: boolean;
  readonly #versions = new Map<string, string>();

  constructor(isCluster: boolean) {
    this.#isCluster = isCluster;
  }

  /** @param confirm is called where the rule asks for it. */
  async apply(rule: ConfirmationRule, key: string, answer: unknown, confirm: () => Promise<void>): Promise<void> {
    if (typeof rule === 'string') {
      if (rule === 'always' || (rule === 'apart' && this.#isCluster)) await confirm();
      return;
    }
    const values = Array.isArray(answer) ? answer : answer === null || answer === undefined ? [] : [answer];
    if (typeof rule === 'function') {
      if (rule(values)) await confirm();
      return;
    }
    const version = rule.oncePer(values);
    if (version !== undefined && this.#versions.get(key) === version) return;
    await confirm();
    if (version !== undefined) this.#remember(key, version);
  }

  #remember(key: string, version: string): void {
    // The oldest goes first; a map keeps the order in which its keys came.
    const [oldest] = this.#versions.keys();
    if (this.#versions.size >= KEEP && oldest !== undefined) this.#versions.delete(oldest);
    this.#versions.delete(key);
    this.#versions.set(key, version);
  }
}
