import { hash, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, hourOf, type Stores } from '@postern/elicitation';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createLocalJWKSet, decodeJwt, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { becomeProblem, ProblemError, problemFor, problemOf } from '../platform/http/problems.ts';
import { nameApiKey } from '../platform/http/request-context.ts';
import { identified } from '../platform/http/unknown-callers.ts';
import type { ApiKeyList } from './api-key-list.ts';
import { digestIn, idOfFileKey, isNewApiKey } from './api-keys.ts';
import type { Caller, RegisteredMcpServer } from './registered-mcp-server.ts';

/** Finds the MCP server of an API key, or of a JWT signed with its registered key (modelled on RFC 7523 section 3). */
export interface CallerDirectory {
  /**
   * Returns undefined for every invalid credential, without a reason. Names a recognised API key in the audit trail, valid or not.
   * @throws ProblemError `api_keys_unavailable`
   */
  identify(bearer: string): Promise<Caller | undefined>;
  /** Whether nobody has withdrawn the credential of a caller: neither a revocation nor a reload. */
  isCurrent(caller: Caller): boolean;
  /**
   * Whether a request of this caller may still get its response: its bearer is still a credential of this MCP server.
   * @throws ProblemError `api_keys_unavailable`
   */
  admits(caller: Caller, bearer: string): Promise<boolean>;
  /** A reload replaces the directory: `next` decides about the callers of requests under way. */
  replaceBy(next: CallerDirectory): void;
}

/** RFC 6750 section 2.1. */
const BEARER = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i;
const MAX_CREDENTIAL = 4096;

const callers = new WeakMap<FastifyRequest, Caller>();

/** Returns the MCP server of the caller, and its API key. Works only where `callerOf` does. */
export function authenticatedCallerOf(request: FastifyRequest): Caller {
  const caller = callers.get(request);
  if (caller === undefined) throw new TypeError('the route is not behind caller authentication');
  return caller;
}

/** Returns the authenticated caller. Works only in the scope of the API, where every request is authenticated first. */
export const callerOf = (request: FastifyRequest): RegisteredMcpServer => authenticatedCallerOf(request).mcpServer;

export interface CallerAuthDeps {
  readonly callers: Pick<CallerDirectory, 'identify' | 'isCurrent' | 'admits'>;
  readonly auditLog: AuditLog;
  readonly noteApiKeyUse: NoteApiKeyUse;
}

function bearerOf({ headers: { authorization = '' } }: FastifyRequest): string | undefined {
  return authorization.length <= MAX_CREDENTIAL ? BEARER.exec(authorization)?.[1] : undefined;
}

/** Authenticates a request. @throws ProblemError `unauthenticated`, the same for every reason; `api_keys_unavailable` */
export function createCallerAuth({ callers: directory, auditLog, noteApiKeyUse }: CallerAuthDeps) {
  return async (request: FastifyRequest): Promise<void> => {
    const bearer = bearerOf(request);
    const caller = bearer === undefined ? undefined : await directory.identify(bearer);
    if (caller === undefined) {
      auditLog.record('caller.refused', {});
      throw new ProblemError('unauthenticated');
    }
    callers.set(request, caller);
    identified(request, { kind: 'caller', id: caller.mcpServer.mcpServerId });
    noteApiKeyUse(caller);
  };
}

/**
 * Withholds responses from callers whose MCP server or credential was withdrawn while their request was under way, for example while
 * they sent the body slowly or waited.
 */
export function addCallerChecks(api: FastifyInstance, { callers: directory, auditLog }: CallerAuthDeps): void {
  async function isAdmitted(request: FastifyRequest, caller: Caller): Promise<boolean> {
    const isAdmitted = await directory.admits(caller, bearerOf(request) ?? '');
    if (!isAdmitted) auditLog.record('caller.refused', {});
    return isAdmitted;
  }
  api.addHook('preHandler', (request, _reply, done) => {
    const caller = callers.get(request);
    if (caller === undefined || directory.isCurrent(caller)) return done();
    isAdmitted(request, caller).then(isIt => done(isIt ? undefined : new ProblemError('unauthenticated')), done);
  });
  api.addHook('onSend', (request, reply, payload, done) => {
    const caller = callers.get(request);
    if (caller === undefined || directory.isCurrent(caller)) return done(null, payload);
    isAdmitted(request, caller).then(
      isIt => done(null, isIt ? payload : becomeProblem(request, reply, problemFor('unauthenticated'))),
      (error: unknown) => {
        const problem = problemOf(error);
        if (problem === undefined) done(error as Error);
        else done(null, becomeProblem(request, reply, problem));
      },
    );
  });
}

/** Maximum lifetime of a caller's JWT, in seconds: it is created for one call, not stored. */
const MAX_JWT_LIFETIME_SECONDS = 300;
const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'];

interface KeyEntry {
  readonly digest: Buffer;
  readonly apiKeyId: string;
  readonly expiresAt: number;
  readonly mcpServer: RegisteredMcpServer;
}

export function createCallerDirectory(p: {
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  /** `aud` of a caller's JWT. */
  audience: string;
  now: () => number;
  /** The keys that operators added or revoked. Keys of the configuration are found first. */
  apiKeys: ApiKeyList;
}): CallerDirectory {
  const byPrefix = new Map<string, KeyEntry[]>();
  const keySets = new Map<string, { mcpServer: RegisteredMcpServer; getKey: JWTVerifyGetKey }>();

  for (const mcpServer of p.mcpServers.values()) {
    for (const apiKey of mcpServer.config.apiKeys) {
      const hex = digestIn(apiKey.hash);
      const digest = Buffer.from(hex, 'hex');
      const prefix = prefixOf(digest);
      const expiresAt = apiKey.expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(apiKey.expires);
      byPrefix.set(prefix, [
        ...(byPrefix.get(prefix) ?? []),
        { digest, apiKeyId: idOfFileKey(hex), expiresAt, mcpServer },
      ]);
    }
    if (mcpServer.config.jwks !== undefined) {
      keySets.set(mcpServer.mcpServerId, { mcpServer, getKey: createLocalJWKSet(mcpServer.config.jwks) });
    }
  }

  // Finds the digest by its first bytes and compares it in constant time: neither step reveals how much of a guessed key is right.
  function byConfig(digest: Buffer): KeyEntry | undefined {
    return byPrefix.get(prefixOf(digest))?.find(candidate => timingSafeEqual(candidate.digest, digest));
  }

  function byFileKey({ apiKeyId, expiresAt, mcpServer }: KeyEntry, digest: string): Caller | undefined {
    nameApiKey(apiKeyId);
    const isValid = expiresAt > p.now() && !p.apiKeys.isRevoked(digest);
    return isValid ? { mcpServer, apiKey: { apiKeyId, source: 'file', digest } } : undefined;
  }

  function byStoredKey(digest: string): Caller | undefined {
    const found = p.apiKeys.find(digest);
    const apiKeyId = found?.apiKeyId ?? p.apiKeys.idOfWithdrawn(digest);
    if (apiKeyId !== undefined) nameApiKey(apiKeyId);
    const mcpServer = found && p.mcpServers.get(found.mcpServerId);
    return mcpServer && { mcpServer, apiKey: { apiKeyId: found.apiKeyId, source: 'store', digest } };
  }

  async function byJwt(bearer: string): Promise<Caller | undefined> {
    try {
      const keySet = keySets.get(decodeJwt(bearer).iss ?? '');
      if (keySet === undefined) return undefined;
      const { mcpServerId } = keySet.mcpServer;
      const { payload } = await jwtVerify(bearer, keySet.getKey, {
        algorithms: ALGORITHMS,
        issuer: mcpServerId,
        subject: mcpServerId,
        audience: p.audience,
        requiredClaims: ['exp', 'iat'],
        maxTokenAge: MAX_JWT_LIFETIME_SECONDS,
        clockTolerance: 30,
        currentDate: new Date(p.now()),
      });
      // Another audience of the same JWT could replay it here.
      if ([payload.aud].flat().length !== 1) return undefined;
      const lifetime = (payload.exp ?? 0) - (payload.iat ?? 0);
      return lifetime <= MAX_JWT_LIFETIME_SECONDS ? { mcpServer: keySet.mcpServer, apiKey: undefined } : undefined;
    } catch (error) {
      // Every invalid JWT gets the same response. Other errors are our own and are rethrown.
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async function identify(bearer: string): Promise<Caller | undefined> {
    const digest = hash('sha256', bearer, 'buffer');
    const ofFile = byConfig(digest);
    if (ofFile !== undefined) return byFileKey(ofFile, digest.toString('hex'));
    // Only a bearer that may be a key of the store depends on the list.
    if (isNewApiKey(bearer)) return byStoredKey(digest.toString('hex'));
    return keySets.size > 0 && bearer.split('.').length === 3 ? byJwt(bearer) : undefined;
  }

  function isFileKeyOf(mcpServerId: string, digest: string): boolean {
    const found = byConfig(Buffer.from(digest, 'hex'));
    return found !== undefined && found.mcpServer.mcpServerId === mcpServerId && found.expiresAt > p.now();
  }

  function isCurrent({ mcpServer, apiKey }: Caller): boolean {
    const { mcpServerId } = mcpServer;
    const found = p.mcpServers.get(mcpServerId);
    if (found === undefined) return false;
    const isFoundHere = found === mcpServer;
    if (apiKey === undefined) return isFoundHere || isDeepStrictEqual(found.config.jwks, mcpServer.config.jwks);
    if (apiKey.source === 'store') return p.apiKeys.isValid(apiKey.digest);
    return !p.apiKeys.isRevoked(apiKey.digest) && (isFoundHere || isFileKeyOf(mcpServerId, apiKey.digest));
  }

  let successor: CallerDirectory | undefined;
  return {
    identify,
    isCurrent: caller => (successor === undefined ? isCurrent(caller) : successor.isCurrent(caller)),
    async admits(caller, bearer) {
      if (successor !== undefined) return successor.admits(caller, bearer);
      return isCurrent(caller) || (await identify(bearer))?.mcpServer.mcpServerId === caller.mcpServer.mcpServerId;
    },
    replaceBy(next) {
      successor = next;
    },
  };
}

const prefixOf = (digest: Buffer): string => digest.subarray(0, 8).toString('latin1');

export type NoteApiKeyUse = (caller: Caller) => void;

/**
 * Notes the last use of API keys, to the hour: at most one write per key, hour and replica. No request waits for it, and while Redis is
 * unavailable uses are missing.
 */
export function createApiKeyUses(p: {
  readonly keyAges: Pick<Stores['keyAges'], 'noteUse'>;
  readonly now: Clock;
}): NoteApiKeyUse {
  const noted = new Map<string, number>();
  return ({ apiKey }) => {
    if (apiKey === undefined) return;
    const { apiKeyId } = apiKey;
    const { at } = hourOf(p.now());
    if (noted.get(apiKeyId) === at) return;
    noted.set(apiKeyId, at);
    p.keyAges.noteUse(apiKeyId, at).catch(() => noted.delete(apiKeyId));
  };
}

/** Signals of the requests that wait: for the end of an elicitation, or for a token that another replica refreshes. */
export interface WaitingRequests {
  /**
   * Returns a signal that aborts when the caller disconnects, the replica stops, a reload replaces the configuration, or the API key is
   * revoked. A waiting read then responds with the current status, so that its caller can retry.
   */
  signalOf(reply: FastifyReply, caller: Caller): AbortSignal;
  /** Aborts the requests whose API keys were revoked. */
  endWithdrawn(): void;
}

/** @param ending aborts when no request may wait any longer */
export function createWaitingRequests(ending: AbortSignal, isCurrent: (caller: Caller) => boolean): WaitingRequests {
  // One listener for all waiting reads: removing one of thousands of listeners from a signal is a linear search.
  const waiting = new Map<AbortController, Caller>();
  ending.addEventListener(
    'abort',
    () => {
      for (const each of waiting.keys()) each.abort();
    },
    { once: true },
  );
  return {
    signalOf({ raw }, caller) {
      const end = new AbortController();
      if (ending.aborted || !isCurrent(caller)) end.abort();
      waiting.set(end, caller);
      raw.once('close', () => {
        waiting.delete(end);
        if (!raw.writableFinished) end.abort();
      });
      return end.signal;
    },
    endWithdrawn() {
      for (const [end, caller] of waiting) if (!isCurrent(caller)) end.abort();
    },
  };
}
