/**
 * The headers of every page (security.md, finding 7 and T21–T27). `same-origin` instead of `no-referrer`, because with
 * the latter browsers send our own form posts with `Origin: null`.
 */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  vary: 'Accept-Language',
} as const;

/**
 * {@link pageHeaders} for pages that ask for a passkey. They load the only script, from our own origin and not inline.
 */
export const passkeyPageHeaders = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; script-src 'self'`,
} as const;
