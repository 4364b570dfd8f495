/**
 * The headers of every page (security.md, finding 7 and T21–T27). They allow the one script, and no way to turn text into markup or code
 * (Trusted Types). `same-origin` instead of `no-referrer`, because with the latter browsers send our own form posts with `Origin: null`.
 */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  vary: 'Accept-Language',
} as const;
