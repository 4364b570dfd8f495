import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisFault } from './redis-fault.ts';
import {
  type ArgsOf,
  clock,
  flag,
  type KeysOf,
  list,
  methodOf,
  number,
  numberOfKeys,
  oneOf,
  optional,
  preludeOf,
  rows,
  type Script,
  text,
} from './script.ts';

/** Every script of the stores. The file of a script is its name in kebab-case. */
export const commands = {
  createElicitation: {
    keys: [
      'elicitation',
      'open',
      'due',
      // The connection or credential that may answer it.
      'answer',
      'subjectLimit',
      'events',
      'openOf',
      'held',
      'ledger',
      'idempotency',
      'mutedBy',
    ],
    args: {
      now: clock,
      elicitationId: text,
      operationId: text,
      ttlMs: number,
      retentionMs: number,
      // Digest of the request.
      ask: text,
      seenOpenId: optional(text),
      // `<createdAt> <generation>`.
      seenAnswer: optional(text),
      limit: number,
      limitWindowMs: number,
      mcpServerId: text,
      kind: text,
      eventsKept: number,
      wakeUpChannel: text,
      // Maximum number of open elicitations of the subject at the MCP server.
      openMax: number,
      // `<records> <bytes>` that the shard may keep for the MCP server.
      share: text,
      // Of the request with the idempotency key.
      fingerprint: optional(text),
      idempotencyRetentionMs: number,
      // Provider or processor that is asked.
      provider: optional(text),
      // Whether the answer will be a connection or credential.
      isLasting: flag,
      // Names and values.
      recordFields: list,
    },
    includes: ['elicitation-fields', 'storage-ledger', 'idempotency-record'],
  },
  transitionElicitation: {
    // Those of a put, paid or counted record are unused without one.
    keys: [
      'elicitation',
      'open',
      'due',
      'events',
      'oneTime',
      // The connection or credential that is put, and those of its subject.
      'answer',
      'answersOf',
      'openOf',
      'result',
      'held',
      'payments',
      'ledger',
      'countedPayments',
      'endedOf',
      'ended',
      // Connections or credentials of the shard.
      'answers',
      'paidBy',
      // Of the owner of the connection or credential, which may be the MCP server.
      'answerLedger',
      // Of the attempt that a new one replaces.
      'formerOneTime',
    ],
    args: {
      now: clock,
      elicitationId: text,
      operationId: text,
      // The version decided on.
      version: number,
      // Before expiresAt only, from expiresAt on only, or at any time.
      timing: oneOf('early', 'late', 'any'),
      status: text,
      // `charging`: the user may have paid. `reopened`: it was charging. `redeemable`: ended with a result.
      leaves: oneOf('open', 'charging', 'reopened', 'ended', 'redeemable'),
      retentionMs: number,
      mcpServerId: text,
      kind: text,
      eventsKept: number,
      wakeUpChannel: text,
      // Present if a one-time record is put.
      oneTimeTtlMs: optional(number),
      oneTimeRecord: optional(text),
      oneTimeSealed: optional(text),
      // Present if a connection or credential is put.
      answerId: optional(text),
      answerRecord: optional(text),
      expiresWithinMs: optional(number),
      result: optional(text),
      // Name of the payment that counts.
      paymentName: optional(text),
      paymentRetentionMs: number,
      // Minor units to be counted against daily limits, or whether counted ones are released.
      countedUnits: optional(number),
      isReleased: flag,
      dailyLimit: optional(number),
      // Provider or processor that is asked.
      provider: optional(text),
      payment: optional(text),
      // Names and values of the new record.
      recordFields: list,
    },
    includes: ['elicitation-fields', 'storage-ledger', 'counted-payments', 'known-layout'],
  },
  redeemElicitation: {
    keys: ['elicitation', 'result', 'open', 'held'],
    args: {
      now: clock,
      elicitationId: text,
      redemption: text,
      // Name of this call.
      call: text,
      retentionMs: number,
    },
    includes: ['elicitation-fields', 'known-layout'],
  },
  postponeElicitation: {
    keys: ['elicitation', 'due', 'held'],
    args: { now: clock, elicitationId: text, delayMs: number },
  },
  dueElicitations: {
    keys: ['due', 'open', 'held'],
    args: { now: clock, limit: number, retentionMs: number },
  },
  openElicitations: { keys: ['openOf'], args: { now: clock } },
  setMute: { keys: ['mutedBy'], args: { now: clock, mcpServerId: text, isMuted: flag } },

  notePayment: { keys: ['payments'], args: { paymentName: text, retentionMs: number } },
  // Of its charge or of its refunds.
  checkCharge: { keys: ['checks'], args: { now: clock, elicitationId: text, delayMs: number } },
  dueCharges: {
    keys: ['chargeChecks', 'refundChecks'],
    // The limit is that of each.
    args: { now: clock, limit: number, withinMs: number },
  },
  dropRefundCheck: {
    keys: ['payments', 'refundChecks'],
    args: { elicitationId: text },
    includes: ['pending-refunds'],
  },
  putPayment: {
    keys: ['payments', 'refundChecks', 'events', 'ledger'],
    args: {
      now: clock,
      elicitationId: text,
      paymentName: text,
      // The version decided on.
      version: number,
      record: text,
      // Absent for a payment that is added.
      paidAt: optional(number),
      retentionMs: number,
      checkAfterMs: optional(number),
      // Without it, there is no event.
      eventType: optional(text),
      eventVersion: number,
      mcpServerId: text,
      eventsKept: number,
      wakeUpChannel: text,
    },
    includes: ['storage-ledger', 'pending-refunds'],
  },

  beginRefresh: {
    keys: ['connection'],
    args: {
      now: clock,
      // Both of the token set decided on.
      createdAt: number,
      generation: number,
      holder: text,
      leaseMs: number,
      // The holder that is gone.
      goneHolder: optional(text),
    },
    includes: ['refresh-refusals'],
  },
  finishRefresh: {
    keys: ['connection', 'ledger'],
    args: {
      now: clock,
      connectionId: text,
      // Both of the token set decided on.
      createdAt: number,
      generation: number,
      operationId: text,
      // Absent if that token set was already gone.
      record: optional(text),
      wakeUpChannel: text,
    },
    includes: ['storage-ledger'],
  },
  postponeRefresh: {
    keys: ['connection'],
    args: {
      now: clock,
      connectionId: text,
      // Both of the token set decided on.
      createdAt: number,
      generation: number,
      holder: text,
      delayMs: number,
      wakeUpChannel: text,
      // Whether the provider refused.
      isRefusal: flag,
    },
    includes: ['refresh-refusals'],
  },
  markLost: {
    keys: ['connection'],
    args: {
      now: clock,
      connectionId: text,
      // Both of the token set decided on.
      createdAt: number,
      generation: number,
      reason: text,
      wakeUpChannel: text,
    },
  },
  // Of a connection or credential. The same use is written again after this time.
  recordUse: { keys: ['used'], args: { now: clock, use: text, againAfterMs: number } },
  removeConnection: {
    // Unless its grant is revoked, the keys of revocations are unused.
    keys: ['connection', 'connectionsOf', 'revocation', 'dueRevocations', 'connected', 'ledger'],
    args: {
      now: clock,
      connectionId: text,
      revocationId: optional(text),
      revocationLifetimeMs: number,
      wakeUpChannel: text,
      // Only if connected at this time or before.
      connectedUntil: optional(number),
    },
    includes: ['storage-ledger'],
  },
  removeCredential: {
    keys: ['credential', 'credentialsOf', 'saved', 'ledger'],
    args: { now: clock, credentialId: text },
    includes: ['storage-ledger'],
  },

  addPasskey: {
    // The ledger of the MCP server that says who the user is.
    keys: ['passkeys', 'facts', 'announcements', 'ledger'],
    args: {
      now: clock,
      passkeyId: text,
      record: text,
      signCount: number,
      isBackedUp: flag,
      // Name of this call.
      call: text,
      max: number,
      // Id of the passkey that authorized it.
      permittedBy: optional(text),
      // Time until a first passkey counts, if it counts later.
      firstDelayMs: number,
      // For the first passkey of a user. `limited`: until then, within the limit for first passkeys.
      first: oneOf('counts', 'limited', 'later'),
      // `<id> <pseudonym>`.
      announcement: optional(text),
      // MCP server that pays for them, because it says who the user is.
      payer: optional(text),
      // `<records> <bytes>` that the shard may keep for it, unless that is known.
      share: optional(text),
    },
    includes: ['storage-ledger', 'passkey-change'],
  },
  usePasskey: {
    keys: ['passkeys'],
    args: { now: clock, passkeyId: text, signCount: number, isBackedUp: flag, call: text },
  },
  renamePasskey: { keys: ['passkeys'], args: { passkeyId: text, knownRecord: text, record: text } },
  removePasskey: {
    // The ledger that counts them.
    keys: ['passkeys', 'facts', 'announcements', 'ledger'],
    // The announcement is `<id> <pseudonym>`; the payer is an MCP server.
    args: { now: clock, passkeyId: text, announcement: optional(text), payer: optional(text) },
    includes: ['storage-ledger', 'passkey-change'],
  },
  resetPasskeys: {
    keys: ['passkeys', 'facts', 'announcements', 'ledger'],
    args: { now: clock, call: text, announcement: optional(text), payer: optional(text) },
    includes: ['storage-ledger', 'passkey-change'],
  },

  addRevocation: {
    keys: ['revocation', 'dueRevocations', 'ledger'],
    args: { now: clock, revocationId: text, record: text, lifetimeMs: number },
    includes: ['storage-ledger'],
  },
  dueRevocations: { keys: ['dueRevocations'], args: { now: clock, limit: number } },
  claimRevocation: {
    keys: ['revocation', 'dueRevocations'],
    // `due`: only if it is due.
    args: { now: clock, revocationId: text, leaseMs: number, which: oneOf('due', 'any') },
    includes: ['known-layout'],
  },
  finishRevocation: {
    keys: ['revocation', 'dueRevocations', 'ledger'],
    args: { now: clock, revocationId: text },
    includes: ['storage-ledger'],
  },
  postponeRevocation: {
    keys: ['revocation', 'dueRevocations'],
    args: { now: clock, revocationId: text, delayMs: number },
  },

  // Both are JSON members with a sealed value.
  replaceSealed: { keys: ['sealedRecord'], args: { member: text, nextMember: text } },

  carryEvents: {
    keys: ['feed', 'feedFacts', 'counts'],
    args: {
      now: clock,
      eventsKept: number,
      retentionMs: number,
      factsRetentionMs: number,
      wakeUpChannel: text,
      wakeUp: text,
      countRetentionMs: number,
      events: rows({
        shard: text,
        // In its outbox.
        position: text,
        elicitationId: text,
        version: text,
        status: text,
        kind: text,
        occurredAt: number,
        provider: optional(text),
        // Time since the elicitation was issued.
        tookMs: optional(number),
      }),
    },
    includes: ['stream-position'],
  },
  countRefreshes: {
    keys: ['refreshes'],
    args: {
      writer: text,
      // Of the batch.
      operationId: text,
      retentionMs: number,
      counts: rows({ field: text, count: number }),
    },
  },
  readFeed: {
    keys: ['feed', 'feedFacts'],
    args: { now: clock, after: optional(text), limit: number, retentionMs: number },
    includes: ['stream-position'],
  },
  moveCursor: {
    keys: ['cursor', 'events'],
    args: { position: text, carriedKept: number },
    includes: ['stream-position'],
  },
  // The position is unknown before the first move.
  moveWebhookCursor: { keys: ['endpoint'], args: { knownPosition: optional(text), position: text } },

  takeLease: { keys: ['lease'], args: { now: clock, holder: text, leaseMs: number } },
  releaseLease: { keys: ['lease'], args: { holder: text } },

  readOneTime: { keys: ['oneTime'], args: { now: clock } },
  // The minimum lifetime of the rest.
  consumeOneTime: {
    keys: ['oneTime'],
    args: { now: clock, spentMs: number },
    includes: ['known-layout'],
  },
  spendOneTime: {
    keys: ['used'],
    args: {
      now: clock,
      name: text,
      expiresAt: number,
      max: number,
      // Time to remember a value after its expiry.
      graceMs: number,
    },
  },

  createBrowserSession: {
    keys: ['browserSession', 'browserSessionsOf', 'ledger'],
    args: {
      now: clock,
      record: text,
      idleMs: number,
      absoluteMs: number,
      // Name of the session in the list.
      name: text,
      max: number,
      // MCP server whose application vouched for the user.
      voucher: optional(text),
      // `<records> <bytes>` that the shard may keep for it.
      share: optional(text),
    },
    includes: ['storage-ledger'],
  },
  readBrowserSession: { keys: ['browserSession'], args: { now: clock } },
  touchBrowserSession: { keys: ['browserSession'], args: { now: clock } },
  endBrowserSession: {
    keys: ['browserSession', 'browserSessionsOf', 'ledger'],
    // Name of the session in the list.
    args: { now: clock, name: text },
    includes: ['storage-ledger'],
  },
  endBrowserSessions: {
    keys: [
      // Those of the subject, or the end of a session at an identity provider.
      'ends',
      // The session that asks for it, which ends with them.
      'own',
    ],
    args: {
      now: clock,
      // Field of the time: `since` for all sessions, `since <MCP server>` for those that its application vouched for, `since @<identity
      // provider>` for those that it signed in.
      field: text,
      // That a session can last.
      absoluteMs: number,
      // Digest of the report, with its operation and the time to remember it.
      report: optional(text),
      operationId: optional(text),
      rememberMs: optional(number),
    },
  },

  putRegistration: { keys: ['clientRegistration'], args: { record: text } },
  removeRegistration: { keys: ['clientRegistration'], args: { record: text } },

  putIdempotency: {
    keys: ['idempotency', 'ledger'],
    args: {
      now: clock,
      fingerprint: text,
      response: text,
      retentionMs: number,
      // `<records> <bytes>` that the shard may keep for the MCP server.
      share: text,
    },
    includes: ['storage-ledger', 'idempotency-record'],
  },
  // A call for fewer ledgers names a key that never exists.
  readLedgers: { keys: { list: 'ledgers', count: 16 }, args: { now: clock }, includes: ['storage-ledger'] },

  addApiKey: {
    keys: ['apiKey', 'apiKeys'],
    args: {
      now: clock,
      apiKeyId: text,
      // The new one.
      listVersion: text,
      about: text,
      // With the sealed digest.
      record: text,
      validMax: number,
      revokedMax: number,
    },
    includes: ['api-key-list'],
  },
  revokeApiKey: {
    keys: ['apiKey', 'apiKeys'],
    args: {
      now: clock,
      apiKeyId: text,
      // The new one.
      listVersion: text,
      // Of a key of the configuration.
      about: optional(text),
      // Who revokes it, and why.
      change: text,
      // For which a revoked key of the store stays listed, and the maximum number of those.
      listedMs: number,
      revokedMax: number,
    },
    includes: ['api-key-list'],
  },
  readApiKeys: { keys: ['apiKeys'], args: { knownVersion: optional(text) } },
  noteKeys: { keys: ['keyAges'], args: { now: clock, names: list } },

  startJob: {
    keys: ['job', 'unfinishedJobs'],
    args: {
      now: clock,
      jobId: text,
      about: text,
      // As JSON.
      person: optional(text),
      // Of unfinished jobs.
      max: number,
    },
  },
  claimJob: { keys: ['job'], args: { now: clock, holder: text, leaseMs: number } },
  // 0 ms release the lease.
  moveJob: { keys: ['job'], args: { now: clock, holder: text, leaseMs: number, progress: text } },
  endJob: {
    keys: ['job', 'unfinishedJobs', 'endedJobs'],
    args: {
      now: clock,
      // Absent for an operator.
      holder: optional(text),
      jobId: text,
      status: text,
      // If it changes.
      progress: optional(text),
      retentionMs: number,
      // Name of this call.
      call: text,
    },
  },

  announceReplica: { keys: ['replicas'], args: { now: clock, replicaId: text, record: text, lifetimeMs: number } },
  drainReplica: { keys: ['replicas'], args: { now: clock, replicaId: text, evenLast: flag } },
  readReplicas: { keys: ['replicas'], args: { now: clock } },

  // An event that must still exist, and the number of carried ones kept.
  inspectShard: { keys: ['epoch', 'events'], args: { eventId: optional(text), carriedKept: number } },
} as const satisfies Record<string, Script>;

export type CommandName = keyof typeof commands;
/** @internal */
export const commandNames = Object.keys(commands) as CommandName[];
export type CommandKeys<Name extends CommandName> = KeysOf<(typeof commands)[Name]>;
export type CommandArgs<Name extends CommandName> = ArgsOf<(typeof commands)[Name]>;

/** @internal */
export function fileOf(name: CommandName): string {
  return `${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}.lua`;
}

/** Value of the ioredis option `scripts`. ioredis sends EVALSHA, or EVAL if Redis does not know the script yet. */
export function loadScripts(): Record<string, { lua: string; numberOfKeys: number }> {
  const read = (file: string) => readFileSync(new URL(`./commands/${file}`, import.meta.url), 'utf8');
  return Object.fromEntries(
    commandNames.map(name => {
      const script: Script = commands[name];
      const included = ['store-clock', ...(script.includes ?? [])].map(file => read(`${file}.lua`));
      const lua = [...included, preludeOf(script), read(fileOf(name))].join('\n');
      return [methodOf(name), { lua, numberOfKeys: numberOfKeys(script) }];
    }),
  );
}

/** The script text as sent, and its SHA-1: the first argument of EVAL or of EVALSHA. @internal */
export function scriptOf(name: CommandName): { readonly lua: string; readonly digest: string } {
  const { lua = '' } = loadScripts()[methodOf(name)] ?? {};
  return { lua, digest: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Called for every sent command with the name of the script or command, never with its arguments. The returned function is called
 * when the command ends, with the fault if it failed. A retry after a lost reply belongs to the same command.
 */
export type CommandObserver = (name: string) => (fault?: RedisFault) => void;
