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
 * and no `cause`, because URLs and bodies of OAuth requests hold codes and secrets.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundErrorCode;
  readonly host: string;

  constructor(code: OutboundErrorCode, host: string) {
    super(messages[code]);
    this.code = code;
    this.host = host;
  }
}

const timeoutErrors = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The one place where undici's errors, which may quote what was sent, are replaced. */
export function asOutboundError(error: unknown, host: string, signal?: AbortSignal): OutboundError {
  for (let link: unknown = error; link instanceof Error; link = link.cause) {
    if (link instanceof OutboundError) return link;
    if ('code' in link && timeoutErrors.has(String(link.code))) return new OutboundError('outbound_timeout', host);
  }
  return new OutboundError(signal?.aborted ? 'outbound_timeout' : 'outbound_unreachable', host);
}
