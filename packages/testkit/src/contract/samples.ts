import {
  type CreateElicitation,
  connectionIdOf,
  digestOf,
  type Elicitation,
  type ElicitationId,
  type ElicitationStore,
  type NewConnection,
  type NewPasskey,
  newBrowserSessionId,
  newElicitationId,
  newOperationId,
  type OneTimeRecord,
  type RefreshedTokens,
  type StorageQuota,
  type Subject,
  shardOf,
  systemEntropy,
  type TransitionElicitation,
} from '@postern/elicitation';

export const MINUTE = 60_000;
export const TTL_MS = 10 * MINUTE;

/** A quota that no suite exhausts. */
export const AMPLE: StorageQuota = { records: 1e9, bytes: 1e12 };

export const operation = () => newOperationId(systemEntropy);
export const secretDigest = () => digestOf(operation());

/** Returns a subject that no other test uses. */
export function somebody(): Subject {
  return { issuer: 'https://id.example.com', subject: `user-${operation()}` };
}

export const shardFor = shardOf;
export const browserSessionIdOf = (subject: Subject) => newBrowserSessionId(shardOf(subject), systemEntropy);

/** The connection that answers a user's request. */
export const connectionIdFor = (subject: Subject) =>
  connectionIdOf({ owner: 'issue-tracker', subject, provider: 'github' });

/** A request for a user, without optional members. */
export function ask(subject: Subject, change: Partial<CreateElicitation> = {}): CreateElicitation {
  return {
    elicitation: {
      elicitationId: newElicitationId(shardOf(subject), systemEntropy),
      mcpServerId: 'issue-tracker',
      identityMode: 'login',
      subject,
      request: { kind: 'authorization', provider: 'github', scopes: ['repo'] },
    },
    ttlMs: TTL_MS,
    operationId: operation(),
    coalescingDigest: digestOf(JSON.stringify(['ask', subject])),
    answeredBy: connectionIdFor(subject),
    seen: {},
    subjectLimit: { max: 1_000, windowMs: MINUTE },
    openMax: 1_000,
    quota: AMPLE,
    ...change,
  };
}

/** The same request from another MCP server. */
export function from(mcpServerId: string, request: CreateElicitation): CreateElicitation {
  return { ...request, elicitation: { ...request.elicitation, mcpServerId } };
}

export function connectionFor(subject: Subject, elicitationId: ElicitationId, owner = 'issue-tracker'): NewConnection {
  return {
    connectionId: connectionIdOf({ owner, subject, provider: 'github' }),
    owner,
    subject,
    provider: 'github',
    scopes: ['repo'],
    account: { id: '583231', name: 'octocat' },
    callbackMembers: { realmId: '9130347798120106' },
    sealedTokens: 'sealed-tokens',
    refreshable: true,
    accessTokenExpiresAt: Date.UTC(2030, 0, 1),
    elicitationId,
  };
}

export function oneTimeFor(elicitationId: ElicitationId, digest = secretDigest()): OneTimeRecord {
  return {
    digest,
    elicitationId,
    mcpServerId: 'issue-tracker',
    provider: 'github',
    browserBinding: secretDigest(),
    sealed: 'sealed-transaction',
  };
}

/** Creates an elicitation, and throws if the store does not. */
export async function created(elicitations: ElicitationStore, request: CreateElicitation): Promise<Elicitation> {
  const result = await elicitations.create(request);
  if (result.result !== 'created') throw new Error(`Expected an elicitation, got ${result.result}.`);
  return result.elicitation;
}

/** The members of one transition. `then` uses a new operation id unless one is given. */
export type Move = Omit<TransitionElicitation, 'current' | 'operationId'>;

export const engage: Move = { events: ['engage'], next: { status: 'active', attempt: 'attempt-1' } };
export const decline: Move = { events: ['decline'], next: { status: 'declined' } };
export const declineAtOnce: Move = { events: ['engage', 'decline'], next: { status: 'declined' } };
export const retry: Move = { events: ['retry'], next: { status: 'pending', retryReason: 'provider_denied' } };
export const hold: Move = { events: ['hold'], next: { status: 'verifying', attempt: 'verification-1' } };
export const widen: Move = { events: ['widen'], next: { status: 'pending', scopes: ['admin', 'repo'] } };
export const cancel: Move = { events: ['cancel'], next: { status: 'cancelled' } };
export const expire: Move = { events: ['expire'], next: { status: 'expired' } };
export const fail: Move = { events: ['fail'], next: { status: 'failed', failure: 'wrong_account' } };

export function complete(elicitation: Elicitation): Move {
  const connection = connectionFor(elicitation.subject, elicitation.elicitationId);
  const { connectionId, provider, scopes } = connection;
  return {
    events: ['complete'],
    next: { status: 'completed', outcome: { kind: 'authorization', connectionId, provider, scopes } },
    putConnection: connection,
  };
}

/** A passkey that its user has just added. */
export const passkeyFor = (subject: Subject, change: Partial<NewPasskey> = {}): NewPasskey => ({
  passkeyId: operation(),
  subject,
  publicKey: 'pQEC',
  signCount: 0,
  transports: [],
  backedUp: false,
  label: 'Key',
  ...change,
});

/** Applies transitions one after another, and throws if one is not applied. */
export async function moved(
  elicitations: ElicitationStore,
  start: Elicitation,
  ...moves: Move[]
): Promise<Elicitation> {
  let current = start;
  for (const move of moves) {
    const result = await elicitations.transition({ current, operationId: operation(), ...move });
    if (result.result !== 'applied') throw new Error(`Expected the move to be applied, got ${result.result}.`);
    current = result.elicitation;
  }
  return current;
}

/** The result of a refresh, under a new operation id. */
export function renewed(sealedTokens = 'renewed', change: Partial<RefreshedTokens> = {}) {
  const tokens: RefreshedTokens = {
    sealedTokens,
    scopes: ['repo'],
    refreshable: true,
    accessTokenExpiresAt: Date.UTC(2031, 0, 1),
    ...change,
  };
  return { tokens, operationId: operation() };
}
