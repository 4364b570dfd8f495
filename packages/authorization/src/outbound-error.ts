/** Why a guarded outbound request was refused or did not come to an answer. */
export type OutboundErrorCode =
  | 'outbound_blocked'
  | 'outbound_redirect'
  | 'outbound_timeout'
  | 'outbound_too_large'
  | 'outbound_unreachable';

const messages: Record<OutboundErrorCode, string> = {
  outbound_blocked: 'The outbound policy does not allow this request',
  outbound_redirect: 'The answer was a redirect, and redirects are not followed',
  outbound_timeout: 'The request took longer than the outbound policy allows',
  outbound_too_large: 'The answer was larger than the outbound policy allows',
  outbound_unreachable: 'The host could not be reached or broke the connection off',
};

/**
 * A guarded outbound request failed. Carries the host and nothing else of the request: no path, query, header or body,
 * and no `cause`, because URLs and bodies of OAuth requests hold codes and secrets. Of the error below only its code remains.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundErrorCode;
  readonly host: string;
  /** Code of the error below: of the system (`ENOTFOUND`), of TLS (`CERT_HAS_EXPIRED`), or of the HTTP library. */
  readonly systemCode?: string;

  constructor(code: OutboundErrorCode, host: string, systemCode?: string) {
    super(messages[code]);
    this.code = code;
    this.host = host;
    if (systemCode !== undefined) this.systemCode = systemCode;
  }
}

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The one place where undici's errors, which may quote what was sent, are replaced. */
export function asOutboundError(error: unknown, host: string, signal?: AbortSignal): OutboundError {
  let systemCode: string | undefined;
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof OutboundError) return link;
    systemCode ??= systemCodeOf(link);
  }
  const isTimeout = signal?.aborted === true || (systemCode !== undefined && timeoutErrors.has(systemCode));
  return new OutboundError(isTimeout ? 'outbound_timeout' : 'outbound_unreachable', host, systemCode);
}

/** Codes of Node.js, OpenSSL and undici are constants. Anything that does not look like one is not repeated. */
function systemCodeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}
