import { authorizationRequestSchema, type ElicitationBody } from '@postern/api';
import { type AnswerTo, outcomeOf, toRefusal } from './answers.ts';
import type { ApiFetch } from './api-fetch.ts';
import { type Ask, type AskOptions, askDigest, bodyOptions, displayName, parseAsk } from './ask.ts';
import { type AccessTokenOptions, createConnectedAccount } from './connected-account.ts';
import type { GatewayError } from './errors.ts';
import { answer, answerAnew } from './resolve.ts';
import { type Inquiry, inTurn, openInquiry, type Run } from './run.ts';

export interface AuthorizeOptions extends AskOptions {
  /** Default: the provider's default scopes, as the gateway is configured. */
  readonly scopes?: readonly string[];
  /** RFC 8707 resource indicator. */
  readonly resource?: string;
  /** Insist on this account id at the provider. */
  readonly expectedAccount?: string;
}

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

export type Authorization = AnswerTo<AuthorizationAccepted>;

export async function authorize(run: Run, provider: string, options: AuthorizeOptions = {}): Promise<Authorization> {
  const ask = createAuthorizationAsk(provider, options);
  return await inTurn(run, async () => {
    const inquiry = await openInquiry(run, ask, options);
    const answered = await answer(run, inquiry);
    return answered.action === 'accept'
      ? accepted(run, inquiry, answered.elicitation)
      : toRefusal(run, ask, answered.resolution);
  });
}

/** @throws {PosternUsageError} `invalid_ask`, before anything is sent */
export function createAuthorizationAsk(provider: string, options: AuthorizeOptions): Ask {
  const { scopes, resource, expectedAccount } = options;
  const authorization = parseAsk('authorize', authorizationRequestSchema, {
    provider,
    ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)] }),
    ...(resource === undefined ? {} : { resource }),
    ...(expectedAccount === undefined ? {} : { expectedAccount }),
  });
  return {
    about: { kind: 'authorization', provider, providerName: provider },
    digest: askDigest('authorization', { ...authorization, scopes: authorization.scopes?.toSorted() }),
    body: { kind: 'authorization', authorization, ...bodyOptions('authorize', options) },
    leavesResult: false,
    lasting: async (run, signal) =>
      (await run.environment.client.connections(await run.principal(), provider, signal)).connections,
  };
}

function accepted(run: Run, inquiry: Inquiry, elicitation: ElicitationBody): AuthorizationAccepted {
  const { connectionId, scopes } = outcomeOf('authorization', elicitation);
  return {
    action: 'accept',
    scopes,
    connectionId,
    ...createConnectedAccount({
      environment: run.environment,
      tool: displayName(run.call.toolName),
      signal: run.call.signal,
      connectionId,
      reconnect: (error, signal) => inTurn(run, () => askAgain(run, { ...inquiry, signal }, error)),
    }),
  };
}

/** The provider no longer honours the connection: only the user can mend that. */
async function askAgain(run: Run, inquiry: Inquiry, cause: GatewayError): Promise<string> {
  const answered = await answerAnew(run, inquiry);
  if (answered.action === 'accept') return outcomeOf('authorization', answered.elicitation).connectionId;
  throw cause;
}
