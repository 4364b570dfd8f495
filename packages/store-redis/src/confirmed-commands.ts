import { LRUCache } from 'lru-cache';
import type { CommandName } from './commands.ts';

/**
 * Decides which replies replicas must confirm (profile `ha`) before the gateway acts on them.
 *
 * - `always`: a caller relies on the commit permanently. A repeat that finds the work done says nothing about the replicas, so
 *   every reply of this command is confirmed.
 * - `never`: a loss costs time or a repeat, but breaks no promise.
 * - a function: decides by the reply.
 * - `oncePer`: confirmed when this process first sees this version of the record, and always if there is no record.
 */
export type ConfirmationRule =
  | 'always'
  | 'never'
  | ((answer: readonly unknown[]) => boolean)
  | { readonly oncePer: (answer: readonly unknown[]) => string | undefined };

const ends: ReadonlySet<unknown> = new Set(['completed', 'failed', 'declined', 'cancelled', 'expired']);
const isAnything = (answer: readonly unknown[]) => answer.length > 0;

export const confirmedCommands: Record<CommandName, ConfirmationRule> = {
  // The 201, and the 200 for an existing elicitation: its creator may never have received a confirmed reply.
  createElicitation: 'always',
  // Terminal statuses are promises, and so is `charging`, which precedes a charge. A lost earlier transition would ask the user
  // twice.
  transitionElicitation: 'always',
  // Handed out once: after a loss, another caller could redeem it again.
  redeemElicitation: 'always',
  // A loss only changes the time of the next check.
  postponeElicitation: 'never',
  dueElicitations: 'never',
  // Only open elicitations, which promise nothing.
  openElicitations: 'never',
  // The page tells the user that the MCP server can ask nothing more.
  setMute: 'always',

  // If Redis forgets the lease, two replicas refresh. With rotating refresh tokens, that ends the grant.
  beginRefresh: 'always',
  // The old refresh token is spent, so the new one must not be lost once the access token is handed out.
  finishRefresh: 'always',
  postponeRefresh: 'never',
  // Its reply may be another token set, which the gateway then hands out.
  markLost: 'always',
  recordUse: 'never',
  // The page tells the user that the connection is gone.
  removeConnection: 'always',
  removeCredential: 'always',
  addPasskey: 'always',
  // After a loss, a passkey that its owner has lost would count again, and a new passkey would count immediately.
  resetPasskeys: 'always',
  removePasskey: 'always',
  // If the name is lost, the user types it again.
  renamePasskey: 'never',
  // The approval that uses the passkey commits in the same slot right afterwards.
  usePasskey: 'never',

  // If the note is lost, the gateway reports the payment again.
  notePayment: 'never',
  // A refund is reserved before the processor is asked: after a loss, more than was paid could be paid back.
  putPayment: 'always',
  // If the check is lost, the gateway asks the processor when the elicitation expires.
  checkCharge: 'never',
  dueCharges: 'never',
  dropRefundCheck: 'never',

  // The only record that this grant must be revoked.
  addRevocation: 'always',
  dueRevocations: 'never',
  claimRevocation: 'never',
  // Revoking twice does no harm.
  finishRevocation: 'never',
  postponeRevocation: 'never',

  // The operator removes a key once nothing is sealed under it, so no old seal may reappear.
  replaceSealed: 'always',
  // Providers issue tokens to this registration. They may be stored on another master.
  putRegistration: 'always',
  removeRegistration: 'never',

  // A loss costs a few counts.
  countRefreshes: 'never',
  // The cursor of the outbox follows the feed, which may be on another master.
  carryEvents: 'always',
  // The reader delivers what it read and continues from there.
  readFeed: ([result, ...events]) => result === 'events' && events.length > 0,
  // If an entry is carried twice, the feed skips it.
  moveCursor: 'never',
  // It is on the master of its deliveries. If both are lost, the gateway queues the deliveries again.
  moveWebhookCursor: 'never',
  // Work under a lease must be safe even if two replicas do it.
  takeLease: 'never',
  releaseLease: 'never',

  readOneTime: 'never',
  // Consumed exactly once: next the gateway exchanges the code, or a foreign browser has invalidated it.
  consumeOneTime: 'always',
  // As for a claim: sign-ins, tickets and ceremonies.
  spendOneTime: 'always',
  // If a browser session is lost, the user signs in again.
  createBrowserSession: 'never',
  readBrowserSession: 'never',
  touchBrowserSession: 'never',
  // A sign-out must be permanent, also for a copied cookie.
  endBrowserSession: 'always',
  endBrowserSessions: 'always',

  // The operator hands out the key.
  addApiKey: 'always',
  // A revoked key must stay revoked.
  revokeApiKey: 'always',
  // Read again within half a second.
  readApiKeys: 'never',
  // Noted again with the next start.
  noteKeys: 'never',

  // The operator relies on the job being done.
  startJob: 'always',
  claimJob: 'never',
  // A loss repeats the work since the move before.
  moveJob: 'never',
  // A cancelled job must not resume.
  endJob: 'always',
  // Repeated every two seconds. A lost order shows in the list of replicas.
  announceReplica: 'never',
  drainReplica: 'never',
  readReplicas: 'never',

  // Numbers for operators.
  readLedgers: 'never',
  // The sent response promises that every repeat gets the same response.
  putIdempotency: 'always',

  // The loss check itself compares the reply with what was confirmed.
  inspectShard: 'never',
};

/** Rules for single Redis commands, by purpose. All other commands are never confirmed. */
export const confirmedCalls = {
  // A reported end must not be undone, and a master that was cut off must not deny an end that the others know. An open status
  // promises nothing.
  readElicitation: ([status]) => status === null || status === undefined || ends.has(status),
  // The refresh of another replica may not be confirmed yet, and the gateway hands out its access token next. A missing
  // connection is reported as gone.
  readConnection: { oncePer: ([generation, createdAt]) => (generation ? `${createdAt} ${generation}` : undefined) },
  // A missing credential is reported as gone. A stored one was confirmed together with the transition that stored it.
  readCredential: ([found]) => found === null || found === undefined,
  // The gateway then copies the events to a feed, possibly on another master.
  readOutbox: isAnything,
  // The start position of a reader that wants only new events.
  readFeedEnd: isAnything,
  // A revoked credential must stay revoked.
  changeAdminCredential: 'always',
  // One check of a credential, one poll of a provider.
  claimOneTime: 'always',
  // A replica without it would look like a Redis that has lost its data.
  putEpoch: 'always',
} satisfies Record<string, ConfirmationRule>;

export type ConfirmedCall = keyof typeof confirmedCalls;

/** Maximum number of confirmed versions that a process remembers. */
const KEEP = 10_000;

/** Applies the rules to replies, and remembers versions that need no further confirmation. */
export class ConfirmationRules {
  readonly #versions = new LRUCache<string, string>({ max: KEEP });

  /** @param confirm called if the rule requires confirmation */
  async apply(rule: ConfirmationRule, key: string, answer: unknown, confirm: () => Promise<void>): Promise<void> {
    if (typeof rule === 'string') {
      if (rule === 'always') await confirm();
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
    if (version !== undefined) this.#versions.set(key, version);
  }
}
