import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthorizationError, type AuthorizationErrorCode, OutboundError } from '@postern/authorization';
import { ProcessorError } from '@postern/payment';
import { describe, expect, it } from 'vitest';
import { outboundFailureCodes, outboundFailureOf } from './outbound-failure.ts';

const authorizationErrorCodes = Object.keys({
  access_denied: true,
  client_gone: true,
  dpop_unsupported: true,
  grant_refused: true,
  invalid_access_token: true,
  invalid_logout_token: true,
  invalid_callback: true,
  invalid_device_authorization: true,
  invalid_id_token: true,
  invalid_metadata: true,
  invalid_pushed_authorization: true,
  invalid_registration: true,
  invalid_revocation_response: true,
  invalid_token_response: true,
  invalid_userinfo: true,
  issuer_mismatch: true,
  issuer_not_allowed: true,
  metadata_mismatch: true,
  outbound_blocked: true,
  outbound_redirect: true,
  outbound_too_large: true,
  par_unsupported: true,
  pkce_unsupported: true,
  provider_error: true,
  provider_unavailable: true,
  registration_refused: true,
  registration_unavailable: true,
  resource_mismatch: true,
  resource_not_allowed: true,
  resource_not_listed: true,
  scope_not_allowed: true,
  state_mismatch: true,
  too_late: true,
} satisfies Record<AuthorizationErrorCode, true>) as AuthorizationErrorCode[];

const documented = readFileSync(join(import.meta.dirname, '../../../../../docs/failures.md'), 'utf8');
const section = (heading: string) => documented.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

describe('S78: the logged reason of an outbound failure', () => {
  it.each([
    ['ENOTFOUND', 'unknown_host'],
    ['EAI_AGAIN', 'name_lookup_failed'],
    ['ECONNREFUSED', 'connection_refused'],
    ['ECONNRESET', 'unreachable'],
    ['EHOSTUNREACH', 'unreachable'],
    ['UND_ERR_SOCKET', 'unreachable'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'untrusted_certificate'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'untrusted_certificate'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'untrusted_certificate'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'untrusted_certificate'],
    ['CERT_HAS_EXPIRED', 'untrusted_certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'untrusted_certificate'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failed'],
    ['EPROTO', 'tls_failed'],
    ['PROXY_HTTP_407', 'proxy_refused'],
    ['PROXY_HTTP_502', 'proxy_failed'],
    ['PROXY_ECONNREFUSED', 'proxy_failed'],
  ])(
    'the logged reason of an outbound failure for %s is %s, also within an error of OAuth or of a processor',
    (cause, code) => {
      const error = new OutboundError('outbound_unreachable', 'a.example', cause);
      expect(outboundFailureOf(error)).toEqual({ code, cause });
      const unavailable = new AuthorizationError('provider_unavailable', { outbound: error });
      expect(outboundFailureOf(unavailable)).toEqual({ code, cause });
      expect(outboundFailureOf(new ProcessorError('unavailable'), { error })).toEqual({ code, cause });
    },
  );

  it.each([
    [new AuthorizationError('provider_error', { providerError: 'invalid_client' }), 401, 'client_refused'],
    [new AuthorizationError('provider_error', { providerError: 'unauthorized_client' }), 400, 'client_refused'],
    [
      new AuthorizationError('provider_error', { providerError: 'invalid_scope', retryable: false }),
      400,
      'request_refused',
    ],
    [new AuthorizationError('provider_error', { providerError: 'invalid_grant' }), 400, 'attempt_refused'],
    [new AuthorizationError('grant_refused', { providerError: 'invalid_grant' }), 400, 'attempt_refused'],
    [new AuthorizationError('provider_unavailable'), 503, 'unavailable'],
    [new AuthorizationError('provider_unavailable'), 404, 'request_refused'],
    [new AuthorizationError('invalid_metadata'), 404, 'unusable_metadata'],
    [new AuthorizationError('invalid_token_response'), 200, 'invalid_answer'],
    [new AuthorizationError('invalid_token_response'), 403, 'request_refused'],
    [new AuthorizationError('invalid_id_token', { claim: 'aud' }), 200, 'invalid_claim'],
    [new ProcessorError('refused', { processorCode: 'api_key_expired', processorStatus: 401 }), 401, 'client_refused'],
    [new ProcessorError('unavailable', { processorStatus: 500 }), 500, 'unavailable'],
  ])('the logged reason of an outbound failure for %o with status %i is %s', (error, status, code) => {
    expect(outboundFailureOf(error, { host: 'a.example', status })).toMatchObject({ code });
  });

  it.each([
    new AuthorizationError('access_denied'),
    new AuthorizationError('scope_not_allowed'),
    new AuthorizationError('invalid_access_token'),
    new AuthorizationError('state_mismatch'),
    new ProcessorError('signature_invalid'),
    new TypeError('ours'),
  ])('does not exist for %o, which is not a failure of a third party', error => {
    expect(outboundFailureOf(error, { host: 'a.example', status: 200 })).toBeUndefined();
  });

  it('the logged reason of an outbound failure is listed in docs/failures.md with the party that fixes it', () => {
    const rows = [...section('Codes').matchAll(/^\| `(\w+)` \| (\w+) \| .{10,} \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, mends]) => [code, mends]))).toEqual(outboundFailureCodes);
  });

  it('the logged reason of an outbound failure has the causes that docs/failures.md lists as set by the gateway, and no others', () => {
    const errors = [
      ...authorizationErrorCodes.map(code => new AuthorizationError(code)),
      ...(['unavailable', 'refused', 'signature_invalid'] as const).map(code => new ProcessorError(code)),
      new ProcessorError('unavailable', { processorCode: 'invalid_answer' }),
      new OutboundError('outbound_timeout', ''),
      new OutboundError('outbound_unreachable', ''),
    ];
    const causes = errors.flatMap(error => outboundFailureOf(error)?.cause ?? []);
    const rows = [...section('Causes that the gateway sets').matchAll(/^\| (`\w+`(?:, `\w+`)*) \| .{10,} \|$/gm)];
    const named = rows.flatMap(([, names = '']) => names.split(', ').map(name => name.slice(1, -1)));
    expect(named.sort()).toEqual([...new Set(causes)].sort());
  });
});
