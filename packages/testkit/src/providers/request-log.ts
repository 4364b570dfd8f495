/** Names of the endpoints of a test provider. `api` is a protected resource. */
export type ProviderEndpoint =
  | 'api'
  | 'authorization'
  | 'device'
  | 'device_authorization'
  | 'interaction'
  | 'introspection'
  | 'jwks'
  | 'metadata'
  | 'other'
  | 'pushed_authorization_request'
  | 'registration'
  | 'revocation'
  | 'token'
  | 'userinfo';

export interface LoggedRequest {
  readonly endpoint: ProviderEndpoint;
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parameters of the form in the body; empty until the body is read. */
  form: Readonly<Record<string, string>>;
  /** The body of a request to an endpoint that browsers do not call. */
  body?: string;
  /** Status of the response, once sent. */
  status?: number;
}

/** Records all requests to a provider. */
export class RequestLog {
  readonly #requests: LoggedRequest[] = [];

  add(request: LoggedRequest): LoggedRequest {
    this.#requests.push(request);
    return request;
  }

  of(endpoint?: ProviderEndpoint): readonly LoggedRequest[] {
    return this.#requests.filter(request => endpoint === undefined || request.endpoint === endpoint);
  }

  clear(): void {
    this.#requests.length = 0;
  }
}
