import type { EvilAnswer } from './evil-provider.ts';

// Catalogues of responses that a client must refuse. Every entry differs from an honest response by one change.

type Members = Readonly<Record<string, unknown>>;

const html: EvilAnswer = {
  headers: { 'content-type': 'text/html' },
  body: '<!doctype html><title>Maintenance</title><script>alert(1)</script>',
};

/** Malformed responses of a token endpoint, to a code or a refresh token, derived from the honest one. */
export function malformedTokenAnswers(honest: Members) {
  const json = JSON.stringify(honest);
  const without = (...names: string[]) =>
    Object.fromEntries(Object.entries(honest).filter(([name]) => !names.includes(name)));
  return {
    empty: { body: '' },
    html,
    'html labelled as JSON': { body: html.body },
    'truncated JSON': { body: json.slice(0, -10) },
    '20 MiB of JSON': { body: oversized(honest, 20) },
    'duplicate keys': { body: `${json.slice(0, -1)},"access_token":"another-access-token"}` },
    'an array': { body: [honest] },
    null: { body: 'null' },
    'wrong token_type': { body: { ...honest, token_type: 'mac' } },
    'token_type of another kind': { body: { ...honest, token_type: ['Bearer'] } },
    'missing access_token': { body: without('access_token') },
    'empty access_token': { body: { ...honest, access_token: '' } },
    'access_token of another kind': { body: { ...honest, access_token: { value: 'x' } } },
    'access_token with a line break': { body: { ...honest, access_token: 'evil\r\nx-injected: 1' } },
    'refresh_token of another kind': { body: { ...honest, refresh_token: 7 } },
    'scope of another kind': { body: { ...honest, scope: { admin: true } } },
    'error with 200': { body: { error: 'temporarily_unavailable', error_description: '<script>alert(1)</script>' } },
    'error next to tokens': { body: { ...honest, error: 'server_error' } },
    'success with 500': { status: 500, body: honest },
    redirect: { status: 302, headers: { location: 'http://localhost:1/token' }, body: '' },
  } satisfies Record<string, EvilAnswer>;
}

/** Responses of a token endpoint that are against the letter of RFC 6749, but harmless and plain: a client must accept them. */
export function untidyTokenAnswers(honest: Members) {
  const answer = (changes: Members): EvilAnswer => ({ body: { ...honest, ...changes } });
  return {
    'status 201': { status: 201, body: honest },
    'status 203': { status: 203, body: honest },
    'a form': {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(Object.entries(honest).map(([name, value]) => [name, String(value)])).toString(),
    },
    'JSON labelled as a form': {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: JSON.stringify(honest),
    },
    'missing token_type': answer({ token_type: undefined }),
    'null as token_type': answer({ token_type: null }),
    'expires_in as text': answer({ expires_in: '3600' }),
    'expires_in with a fraction': answer({ expires_in: '3600.5' }),
    'null as expires_in': answer({ expires_in: null }),
    'empty expires_in': answer({ expires_in: '' }),
    'zero as expires_in': answer({ expires_in: 0 }),
    'negative expires_in': answer({ expires_in: -1 }),
    'expires_in in words': answer({ expires_in: 'soon' }),
    'huge expires_in': answer({ expires_in: 1e99 }),
    'null as refresh_token': answer({ refresh_token: null }),
    'empty refresh_token': answer({ refresh_token: '' }),
    'null as id_token': answer({ id_token: null }),
    'null as scope': answer({ scope: null }),
    'null in members of its own': answer({ account: null, error: null, error_description: '' }),
  } satisfies Record<string, EvilAnswer>;
}

/** Hostile responses of a pushed authorization request endpoint (RFC 9126). */
export const hostilePushedAnswers = {
  empty: { status: 201, body: '' },
  html,
  'missing request_uri': { status: 201, body: { expires_in: 60 } },
  'empty request_uri': pushed(''),
  'request_uri of another kind': pushed(['urn:a', 'urn:b']),
  'request_uri of 1 MiB': pushed(`urn:${'x'.repeat(1024 * 1024)}`),
  'request_uri with a line break': pushed('urn:a\r\nset-cookie: b=c'),
  'negative expires_in': { status: 201, body: { request_uri: 'urn:a', expires_in: -60 } },
  'error with 201': { status: 201, body: { error: 'invalid_request', error_description: '<b>no</b>' } },
  redirect: { status: 307, headers: { location: 'http://localhost:1/request' }, body: '' },
} satisfies Record<string, EvilAnswer>;

/** Unusual but valid values of `request_uri`. A client must encode them, and use only its own endpoint. */
export const trickyRequestUris = [
  'urn:a&redirect_uri=https://attacker.example/callback',
  'urn:a#fragment',
  'https://attacker.example/request',
  'javascript:alert(1)',
] as const;

const device = {
  device_code: 'evil-device-code',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://attacker.example/device',
  expires_in: 600,
  interval: 5,
};

/** Hostile verification URIs, for a provider on `localhost`. */
const hostileVerificationUris = {
  script: 'javascript:alert(document.domain)',
  data: 'data:text/html,<script>alert(1)</script>',
  file: 'file:///etc/passwd',
  'other host': 'https://attacker.example/device',
  'other host over http': 'http://attacker.example/device',
  'user before the host': 'https://localhost@attacker.example/device',
  'no address': 'device',
  'control characters': 'https://localhost/\u0000device',
} as const;

/** Codes that would be displayed as something else. */
const hostileUserCodes = {
  empty: '',
  'line break': 'WDJB\nMJHT',
  null: 'WDJB\u0000MJHT',
  'right-to-left override': 'WDJB\u202eTHJM',
  isolate: 'WDJB\u2066MJHT',
  'zero width': 'WDJB\u200bMJHT',
  markup: '<img src=x onerror=alert(1)>',
  long: 'W'.repeat(10_000),
} as const;

/** Hostile responses of a device authorization endpoint (RFC 8628 section 3.2), for an honest verification URI. */
export function hostileDeviceAnswers(verificationUri: string): Record<string, EvilAnswer> {
  const honest = { ...device, verification_uri: verificationUri };
  const entries: [string, EvilAnswer][] = [
    ...Object.entries(hostileVerificationUris).flatMap(([name, uri]): [string, EvilAnswer][] => [
      [`verification_uri: ${name}`, { body: { ...honest, verification_uri: uri } }],
      [`verification_uri_complete: ${name}`, { body: { ...honest, verification_uri_complete: uri } }],
    ]),
    ...Object.entries(hostileUserCodes).map(([name, user_code]): [string, EvilAnswer] => [
      `user_code: ${name}`,
      { body: { ...honest, user_code } },
    ]),
    ['empty', { body: '' }],
    ['html', html],
    ['20 MiB of JSON', { body: oversized(honest, 20) }],
    ['missing device_code', { body: { ...honest, device_code: undefined } }],
    ['missing user_code', { body: { ...honest, user_code: undefined } }],
    ['missing verification_uri', { body: { ...honest, verification_uri: undefined } }],
    ['negative expires_in', { body: { ...honest, expires_in: -1 } }],
    ['huge expires_in', { body: { ...honest, expires_in: 1e99 } }],
    ['negative interval', { body: { ...honest, interval: -5 } }],
    ['huge interval', { body: { ...honest, interval: 1e99 } }],
    ['error with 200', { body: { error: 'invalid_client' } }],
  ];
  return Object.fromEntries(entries);
}

/** Hostile responses of a registration endpoint (RFC 7591 section 3.2), derived from the honest one. */
export function hostileRegistrationAnswers(honest: Members) {
  const answer = (changes: Members): EvilAnswer => ({ status: 201, body: { ...honest, ...changes } });
  return {
    empty: { status: 201, body: '' },
    html: { ...html, status: 201 },
    '20 MiB of JSON': { status: 201, body: oversized(honest, 20) },
    'an array': { status: 201, body: [honest] },
    'missing client_id': answer({ client_id: undefined }),
    'empty client_id': answer({ client_id: '' }),
    'client_id of another kind': answer({ client_id: 7 }),
    'client_id with a line break': answer({ client_id: 'a\r\nb' }),
    'client_id of 1 MiB': answer({ client_id: 'x'.repeat(1024 * 1024) }),
    'client_secret of another kind': answer({ client_secret: { value: 'x' } }),
    'expired client_secret': answer({ client_secret: 'evil-secret', client_secret_expires_at: 1 }),
    'other redirect_uris': answer({ redirect_uris: ['https://attacker.example/callback'] }),
    'another authentication': answer({ token_endpoint_auth_method: 'tls_client_auth' }),
    'error with 201': { status: 201, body: { error: 'invalid_client_metadata', error_description: '<b>no</b>' } },
    redirect: { status: 307, headers: { location: 'http://localhost:1/reg' }, body: '' },
  } satisfies Record<string, EvilAnswer>;
}

/** Values of `registration_client_uri` at which a client must not use its registration access token. */
export const hostileRegistrationClientUris = [
  'javascript:alert(1)',
  'https://attacker.example/reg/1',
  'http://169.254.169.254/latest/meta-data/',
] as const;

function pushed(requestUri: unknown): EvilAnswer {
  return { status: 201, body: { request_uri: requestUri, expires_in: 60 } };
}

/** JSON that is honest except for its size. Generated while it is sent. */
function* chunksOf(honest: Members, mebibytes: number): Generator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(`${JSON.stringify(honest).slice(0, -1)},"padding":"`);
  const mebibyte = encoder.encode('x'.repeat(1024 * 1024));
  for (let sent = 0; sent < mebibytes; sent += 1) yield mebibyte;
  yield encoder.encode('"}');
}

function oversized(honest: Members, mebibytes: number): Iterable<Uint8Array> {
  return { [Symbol.iterator]: () => chunksOf(honest, mebibytes) };
}
