import { authorizationRequestSchema, type ElicitationBody } from '@postern/api';
import { z } from 'zod/v4';
import { type AccessTokens, createAccessTokens } from './access-tokens.ts';
import { type AnswerTo, answer, answerAnew, outcomeOf } from './answer.ts';
import { type ApiFetch, createApiFetch } from './api-fetch.ts';
import {
  type Ask,
  type AskOptions,
  type AskSpec,
  askOptionsSchema,
  bodyOptions,
  displayName,
  openAsk,
  parseTerms,
} from './ask.ts';
import { ElicitationFailedError, type GatewayError } from './errors.ts';
import { forHearer } from './for-hearer.ts';
import { runSerially, type ToolRun } from './tool-run.ts';

export interface AuthorizeOptions extends AskOptions {
  /** Default: the provider's default scopes in the gateway's configuration. */
  readonly scopes?: readonly string[];
  /** RFC 8707 resource indicator. */
  readonly resource?: string;
  /** Required account id at the provider. */
  readonly expectedAccount?: string;
}

/** The user has connected the account. */
export interface AuthorizationAccepted {
  readonly action: 'accept';
  readonly connectionId: string;
  /** Granted scopes, which may differ from the requested ones. */
  readonly scopes: readonly string[];
  /**
   * Returns a fresh access token from the gateway. Keep it in memory and out of results and logs. If the provider has ended the
   * authorization, the user is asked again and the handler is suspended. DPoP-bound tokens (RFC 9449) work only with `fetch`,
   * which adds the proof.
   *
   * @throws {GatewayError}
   */
  accessToken(options?: AccessTokenOptions): Promise<string>;
  /**
   * `fetch` with a fresh access token, and with a proof if the provider binds its tokens to a key (RFC 9449). After a 401 the
   * token is refreshed and the request repeated once, unless its body is a stream; a second 401 is returned, and so is a 401 with another
   * error, such as `insufficient_scope`. If the token cannot be refreshed, the user is asked again and the handler is suspended.
   * Redirects are errors unless `init` allows them. Does not use `this`, so it can be passed to libraries.
   *
   * @throws {GatewayError}
   * @throws {PosternUsageError} `invalid_url` for a URL that would receive the token unencrypted; `host_not_allowed` for a host
   * that is not among the configured `apiHosts` of the provider
   */
  readonly fetch: ApiFetch;
  /**
   * Returns the additional parameters of the provider's callback that the operator named (`callbackMembers`), such as `realmId` of
   * QuickBooks. The user's browser delivered them. May ask the user again, like `accessToken`.
   *
   * @throws {GatewayError}
   */
  callbackMembers(): Promise<Readonly<Record<string, string>>>;
}

export type Authorization = AnswerTo<AuthorizationAccepted>;

export async function authorize(
  run: ToolRun,
  provider: string,
  options: AuthorizeOptions = {},
): Promise<Authorization> {
  const spec = authorizationSpec(provider, options);
  return await runSerially(run, async () => {
    const ask = await openAsk(run, spec, options);
    const answered = await answer(run, ask);
    return answered.action === 'accept' ? accepted(run, provider, ask, answered.elicitation) : answered;
  });
}

/** `authorizationRequestSchema` parses the members of this verb. */
const own = z.unknown().optional();
const optionsSchema = askOptionsSchema.extend({ scopes: own, resource: own, expectedAccount: own });

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function authorizationSpec(provider: string, options: AuthorizeOptions): AskSpec {
  const { scopes, resource, expectedAccount } = options;
  const authorization = parseTerms('authorize', authorizationRequestSchema, {
    provider,
    // A text is an iterable of letters.
    scopes: Array.isArray(scopes) ? [...new Set(scopes)] : scopes,
    resource,
    expectedAccount,
  });
  return {
    about: { kind: 'authorization', provider, providerName: provider },
    terms: { ...authorization, scopes: authorization.scopes?.toSorted() },
    body: { kind: 'authorization', authorization, ...bodyOptions('authorize', options, optionsSchema) },
    needsRedemption: false,
    lasting: async (run, signal) =>
      (await run.environment.client.connections(await run.principal(), provider, signal)).connections,
  };
}

function accepted(run: ToolRun, provider: string, ask: Ask, elicitation: ElicitationBody): AuthorizationAccepted {
  const { connectionId, scopes } = outcomeOf('authorization', elicitation);
  return {
    action: 'accept',
    scopes,
    connectionId,
    ...createConnectedAccount(run, {
      provider,
      connectionId,
      reconnect: (error, signal) => runSerially(run, () => askAgain(run, { ...ask, signal }, error)),
    }),
  };
}

/** Asks the user to reconnect after the provider has ended the connection. */
async function askAgain(run: ToolRun, ask: Ask, cause: GatewayError): Promise<string> {
  const answered = await answerAnew(run, ask).catch((error: unknown) => {
    throw run.returnsRefusals && error instanceof ElicitationFailedError ? cause : error;
  });
  if (answered.action === 'accept') return outcomeOf('authorization', answered.elicitation).connectionId;
  throw cause;
}

export interface AccessTokenOptions {
  readonly signal?: AbortSignal;
  /**
   * Token of this connection that the provider's API rejected (401). Report it only if the API rejected the token itself: if the provider
   * refuses to refresh it, the connection ends and the user is asked again. The gateway refreshes unless it has a newer token set.
   */
  readonly rejected?: string;
}

const tokenOptionsSchema = z.strictObject({
  signal: z.instanceof(AbortSignal).optional(),
  rejected: z.string().optional(),
});

export interface ConnectedAccount {
  readonly accessToken: (options?: AccessTokenOptions) => Promise<string>;
  readonly fetch: ApiFetch;
  readonly callbackMembers: () => Promise<Readonly<Record<string, string>>>;
}

/** Access to the API of one connection, for one run of a tool. */
function createConnectedAccount(
  run: ToolRun,
  p: Pick<Parameters<typeof createAccessTokens>[0], 'connectionId' | 'reconnect'> & { provider: string },
): ConnectedAccount {
  const { environment, call, log } = run;
  const { signal } = call;
  const issued = createAccessTokens({ environment, tool: displayName(call.toolName), ...p });
  const tokens: AccessTokens = {
    async getAccessToken(request) {
      const token = await issued.getAccessToken(request);
      // The handler is about to get a token, or to send one.
      log.noteAnswer();
      return token;
    },
  };
  const { progress } = run;
  const send = createApiFetch({ environment, tokens, provider: p.provider, signal });
  return {
    accessToken: (options = {}) =>
      forHearer(progress, async () => {
        const { signal: own, rejected } = parseTerms('accessToken', tokenOptionsSchema, options);
        const within = own === undefined ? signal : AbortSignal.any([signal, own]);
        return (await tokens.getAccessToken({ rejected, signal: within })).accessToken;
      }),
    fetch: (...request) => forHearer(progress, () => send(...request)),
    callbackMembers: () => forHearer(progress, async () => (await tokens.getAccessToken({ signal })).callbackMembers),
  };
}
