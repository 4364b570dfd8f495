import type { ElicitationBody } from '@postern/api';
import type { ApiFetch } from './api-fetch.ts';
import { type Ask, type AuthorizeOptions, createAsk, displayName, naming } from './ask.ts';
import { type AccessTokenOptions, createConnectedAccount } from './connected-account.ts';
import { isTerminal } from './elicitation-status.ts';
import { pursue } from './eras/pursue.ts';
import { ElicitationFailedError, GatewayError } from './errors.ts';
import { forgetAsk, issue, type Resolution, type Run, recentAskKey } from './run.ts';
import { Suspension } from './suspension.ts';
import { type PlainToolResult, plainToolResult } from './tool-result.ts';

/** The user has connected the account, now or earlier. */
export interface AuthorizationAccepted {
  readonly action: 'accept';
  readonly connectionId: string;
  /** What the provider granted, which may differ from what was asked. */
  readonly scopes: readonly string[];
  /**
   * A fresh access token of the provider, straight from the gateway. Keep it in memory and out of results and logs.
   * Where the provider has withdrawn the authorization, the user is asked again and the handler is suspended. Of no use by
   * itself where the provider binds its tokens to a key (RFC 9449): `fetch` adds the proof.
   *
   * @throws {GatewayError}
   */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /**
   * `fetch` with a fresh access token, and a proof where the provider binds its tokens to a key (RFC 9449). A token that the
   * API turns away with 401 is renewed, and the request sent once more unless its body is a stream; a second 401 is returned.
   * Where the token cannot be renewed, the user is asked again and the handler is suspended. Redirects are errors unless `init`
   * says otherwise. Needs no `this`, so a library that takes a `fetch` can have it.
   *
   * @throws {GatewayError}
   * @throws {PosternUsageError} `invalid_url` for a URL to which the token would travel in the clear
   */
  readonly fetch: ApiFetch;
}

/** The user said no on the page (`declined`), or the MCP client did not open it (`client_declined`). */
export interface AuthorizationDeclined {
  readonly action: 'decline';
  readonly reason: 'declined' | 'client_declined';
  /** A plain, honest result for the tool to return. */
  toToolResult(): PlainToolResult;
}

/** Nobody decided: cancelled through the API, out of time, or dismissed in the MCP client. */
export interface AuthorizationCancelled {
  readonly action: 'cancel';
  readonly reason: 'cancelled' | 'expired' | 'client_cancelled';
  /** A plain, honest result for the tool to return. */
  toToolResult(): PlainToolResult;
}

export type Authorization = AuthorizationAccepted | AuthorizationDeclined | AuthorizationCancelled;

/** What a tool handler finds in `ctx.gate`. */
export interface GateContext {
  /**
   * Answers at once when the user has already connected `provider`. Otherwise the user is asked and this call does not
   * return: the handler is suspended with an error that must not be swallowed (see `isElicitationPending`), and runs again
   * from the start when the MCP client retries. Do not cause side effects before it.
   *
   * @throws {ElicitationFailedError} when the interaction failed
   * @throws {GatewayError} when the gateway refuses or cannot be reached
   * @throws {SubjectUnavailableError} when the request names no verified user
   * @throws {PosternUsageError} `invalid_ask`
   */
  authorize(provider: string, options?: AuthorizeOptions): Promise<Authorization>;
}

export function createGateContext(run: Run): GateContext {
  return {
    async authorize(provider, options = {}) {
      const ask = createAsk(provider, options);
      const signal = options.signal ? AbortSignal.any([run.call.signal, options.signal]) : run.call.signal;
      return await suspending(run, async () => {
        const remembered = await recall(run, ask, signal);
        const resolution = remembered ?? (await resolve(run, ask, await issue(run, ask, signal), signal));
        // Reported once: the next call may ask again.
        if (resolution.by === 'gateway') await forgetAsk(run, ask, resolution.elicitation);
        return toAuthorization(run, ask, resolution);
      });
    },
  };
}

/** Notes the suspension on the run before it leaves, so that a handler that swallows it is found out. */
async function suspending<T>(run: Run, work: () => Promise<T>): Promise<T> {
  if (run.suspension !== undefined) throw run.suspension;
  try {
    return await work();
  } catch (error) {
    if (error instanceof Suspension) run.suspension ??= error;
    throw error;
  }
}

async function resolve(run: Run, ask: Ask, elicitation: ElicitationBody, signal: AbortSignal): Promise<Resolution> {
  if (isTerminal(elicitation)) return { by: 'gateway', elicitation };
  return await pursue(run, ask, { elicitation, isRetry: false }, signal);
}

/** The elicitation that this very call was answered with before, as it stands now. */
async function recall(run: Run, ask: Ask, signal: AbortSignal): Promise<Resolution | undefined> {
  const { requestState } = run;
  if (requestState?.ask === ask.digest) {
    return await pursue(run, ask, { elicitationId: requestState.elicitationId, isRetry: true }, signal);
  }
  const elicitation = await readRemembered(run, ask, signal);
  return elicitation === undefined ? undefined : await resolve(run, ask, elicitation, signal);
}

async function readRemembered(run: Run, ask: Ask, signal: AbortSignal): Promise<ElicitationBody | undefined> {
  const { client, recentAsks } = run.environment;
  const key = await recentAskKey(run, ask);
  const elicitationId = recentAsks.recall(key);
  if (elicitationId === undefined) return undefined;
  let elicitation: ElicitationBody;
  try {
    elicitation = await client.read(elicitationId, 0, signal);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'not_found') throw error;
    recentAsks.forget(key, elicitationId);
    return undefined;
  }
  if (!isTerminal(elicitation) || elicitation.status === 'completed') return elicitation;
  // Another replica may have asked again since, and the user may have agreed: an old refusal must not hide that.
  const { connections } = await client.connections(await run.principal(), ask.provider, signal);
  const isStale = connections.some(({ updatedAt }) => updatedAt > (elicitation.endedAt ?? elicitation.expiresAt));
  if (isStale) recentAsks.forget(key, elicitationId);
  return isStale ? undefined : elicitation;
}

function toAuthorization(run: Run, ask: Ask, resolution: Resolution): Authorization {
  const { text } = run.environment;
  const names = naming(ask, resolution.by === 'gateway' ? resolution.elicitation : undefined);
  if (resolution.by === 'mcp-client') {
    return resolution.action === 'decline'
      ? refusal('decline', 'client_declined')
      : refusal('cancel', 'client_cancelled');
  }
  const { elicitation } = resolution;
  switch (elicitation.status) {
    case 'completed':
      return accepted(run, ask, elicitation);
    case 'declined':
      return refusal('decline', 'declined');
    case 'cancelled':
    case 'expired':
      return refusal('cancel', elicitation.status);
    case 'failed':
      throw new ElicitationFailedError(elicitation.failure?.code ?? 'unknown', elicitation.elicitationId);
    default:
      throw new GatewayError('invalid_response', `An elicitation cannot end as ${elicitation.status}.`);
  }

  function refusal<
    A extends 'decline' | 'cancel',
    R extends (AuthorizationDeclined | AuthorizationCancelled)['reason'],
  >(action: A, reason: R) {
    return { action, reason, toToolResult: () => plainToolResult(text({ kind: reason, ...names })) };
  }
}

function accepted(run: Run, ask: Ask, elicitation: ElicitationBody): AuthorizationAccepted {
  const { outcome } = elicitation;
  if (outcome === undefined) throw new GatewayError('invalid_response', 'A completed elicitation has no outcome.');
  return {
    action: 'accept',
    scopes: outcome.scopes,
    connectionId: outcome.connectionId,
    ...createConnectedAccount({
      environment: run.environment,
      tool: displayName(run.call.toolName),
      signal: run.call.signal,
      connectionId: outcome.connectionId,
      reconnect: (error, signal) => suspending(run, () => askAgain(run, ask, error, signal)),
    }),
  };
}

/** The provider no longer honours the connection: only the user can mend that. */
async function askAgain(run: Run, ask: Ask, cause: GatewayError, signal: AbortSignal): Promise<string> {
  const resolution = await resolve(run, ask, await issue(run, ask, signal), signal);
  if (resolution.by === 'gateway' && resolution.elicitation.outcome !== undefined) {
    return resolution.elicitation.outcome.connectionId;
  }
  throw cause;
}
