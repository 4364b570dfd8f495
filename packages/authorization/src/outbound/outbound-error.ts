/** Why a guarded outbound request was refused or failed. */
export type OutboundErrorCode =
  | 'outbound_blocked'
  | 'outbound_redirect'
  | 'outbound_timeout'
  | 'outbound_too_large'
  | 'outbound_unreachable';

const messages: Record<OutboundErrorCode, string> = {
  outbound_blocked: 'The outbound policy does not allow this request',
  outbound_redirect: 'The response is a redirect, which the gateway does not follow',
  outbound_timeout: 'The request took longer than the outbound policy allows',
  outbound_too_large: 'The response is larger than the outbound policy allows',
  outbound_unreachable: 'The host is unreachable or closed the connection',
};

/**
 * A guarded outbound request failed. Contains only the host of the request: no path, query, header, body or `cause`, because
 * URLs and bodies of OAuth requests contain codes and secrets. Only the code of the original error is kept.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundErrorCode;
  readonly host: string;
  /** Code of the original error: of the system (`ENOTFOUND`), of TLS (`CERT_HAS_EXPIRED`), or of the HTTP library. */
  readonly systemCode?: string;

  constructor(code: OutboundErrorCode, host: string, systemCode?: string) {
    super(messages[code]);
    this.code = code;
    this.host = host;
    if (systemCode !== undefined) this.systemCode = systemCode;
  }
}

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Replaces undici's errors, which may quote the request. All of them must pass through here. */
export function asOutboundError(error: unknown, host: string, signal?: AbortSignal): OutboundError {
  let systemCode: string | undefined;
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof OutboundError) return link;
    systemCode ??= systemCodeOf(link);
  }
  const isTimeout = signal?.aborted === true || (systemCode !== undefined && timeoutErrors.has(systemCode));
  return new OutboundError(isTimeout ? 'outbound_timeout' : 'outbound_unreachable', host, systemCode);
}

/** Returns the error code if it looks like the constant codes of Node.js, OpenSSL and undici. */
function systemCodeOf(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}
