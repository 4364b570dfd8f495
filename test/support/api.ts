import type {
  AccessTokenRequest,
  ConnectionListBody,
  CredentialListBody,
  CredentialValuesBody,
  ElicitationBody,
  IssueElicitationInput,
  OutcomeBody,
  PlainAccessToken,
  ProblemBody,
  ReadCredentialRequest,
  RedeemedElicitationBody,
  RedeemRequest,
  RemovedConnectionBody,
} from '@postern/api';

export interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** Set if the request was refused. */
interface Refusal {
  readonly code?: ProblemBody['code'];
  readonly errors?: ProblemBody['errors'];
}
/** Tests read the members that they expect; `expectInContract` checks responses against the schemas of the contract. */
type AnyOutcome = Partial<
  UnionToIntersection<OutcomeBody extends infer O ? (O extends unknown ? Omit<O, 'kind'> : never) : never>
> &
  Pick<OutcomeBody, 'kind'>;
type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never;

type AnyRedeemed = Partial<
  UnionToIntersection<RedeemedElicitationBody extends infer R ? (R extends unknown ? Omit<R, 'kind'> : never) : never>
> & { kind: string };

export type ElicitationAnswer = Omit<ElicitationBody, 'outcome'> & { outcome?: AnyOutcome } & Refusal;

export type Api = ReturnType<typeof createApi>;

/** The API key of an MCP server in these worlds. */
export const keyOf = (mcpServerId: string): string => `pk_${mcpServerId}_only-for-tests-0123456789`;

/** The API of the gateway at an address, called with this MCP server's key. */
export function createApi(base: string, apiKey: string) {
  async function call<T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? undefined : JSON.parse(text)) as T,
    };
  }
  return {
    call,
    issue: (body: IssueElicitationInput, headers?: Record<string, string>) =>
      call<ElicitationAnswer>('POST', '/v1/elicitations', body, headers),
    read: (id: string, wait?: number) =>
      call<ElicitationAnswer>('GET', `/v1/elicitations/${id}${wait === undefined ? '' : `?wait=${wait}`}`),
    redeem: (id: string, headers?: Record<string, string>, body?: RedeemRequest) =>
      call<AnyRedeemed & Refusal>('POST', `/v1/elicitations/${id}/redeem`, body, headers),
    cancel: (id: string) => call<ElicitationAnswer>('POST', `/v1/elicitations/${id}/cancel`),
    accessToken: (connectionId: string, request?: AccessTokenRequest) =>
      call<PlainAccessToken & Refusal>('POST', `/v1/connections/${connectionId}/access-token`, request),
    connections: (subject: { issuer: string; subject: string }) =>
      call<ConnectionListBody & Refusal>('GET', `/v1/connections?${new URLSearchParams(subject)}`),
    credentials: (subject: { issuer: string; subject: string }) =>
      call<CredentialListBody & Refusal>('GET', `/v1/credentials?${new URLSearchParams(subject)}`),
    credential: (credentialId: string, request?: ReadCredentialRequest) =>
      call<Partial<UnionToIntersection<CredentialValuesBody>> & Refusal>(
        'POST',
        `/v1/credentials/${credentialId}/values`,
        request,
      ),
    removeCredential: (credentialId: string) => call<Refusal>('DELETE', `/v1/credentials/${credentialId}`),
    remove: (connectionId: string) =>
      call<RemovedConnectionBody & Refusal>('DELETE', `/v1/connections/${connectionId}`),
  };
}
