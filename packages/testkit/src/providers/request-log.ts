/** Endpoints of a test provider, as tests name them. `api` is a protected resource, not part of the protocol. */
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
  /** Parameters of the form in the body, once it has been read; empty if it never was. */
  form: Readonly<Record<string, string>>;
  /** The body as sent to an endpoint that is called by software, not by browsers. */
  body?: string;
  /** Status of the answer, once there is one. */
  status?: number;
}

/** Everything that was asked of a provider, so that a test can say what was not asked. */
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
