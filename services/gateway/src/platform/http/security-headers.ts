const YEAR_SECONDS = 31_536_000;

/** Defaults for responses that set no own values: no active content, no caching. */
export const defaultHeaders = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Security headers of every response (ASVS 3.4). Pages set their own content security policy; every other response gets the strictest.
 * The referrer policy is `same-origin`, because with `no-referrer` our own forms arrive with `Origin: null`.
 */
export function securityHeaders(publicUrl: string): Readonly<Record<string, string>> {
  return {
    ...defaultHeaders,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    ...(publicUrl.startsWith('https:')
      ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}; includeSubDomains` }
      : {}),
  };
}
