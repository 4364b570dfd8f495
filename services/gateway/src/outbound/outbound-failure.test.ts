import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthorizationError, authorizationErrorCodes, OutboundError } from '@postern/authorization';
import { ProcessorError } from '@postern/payment';
import { describe, expect, it } from 'vitest';
import { outboundFailureCodes, outboundFailureOf } from './outbound-failure.ts';

const documented = readFileSync(join(import.meta.dirname, '../../../../docs/failures.md'), 'utf8');
const section = (heading: string) => documented.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

describe('S78: what the log says of an outbound failure', () => {
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
  ])('%s is %s, also behind an error of OAuth or of a processor', (cause, code) => {
    const error = new OutboundError('outbound_unreachable', 'a.example', cause);
    expect(outboundFailureOf(error)).toEqual({ code, cause });
    const unavailable = new AuthorizationError('provider_unavailable', { outbound: error });
    expect(outboundFailureOf(unavailable)).toEqual({ code, cause });
    expect(outboundFailureOf(new ProcessorError('unavailable'), { error })).toEqual({ code, cause });
  });

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
  ])('%o with status %i is %s', (error, status, code) => {
    expect(outboundFailureOf(error, { host: 'a.example', status })).toMatchObject({ code });
  });

  it.each([
    new AuthorizationError('access_denied'),
    new AuthorizationError('scope_not_allowed'),
    new AuthorizationError('invalid_access_token'),
    new AuthorizationError('state_mismatch'),
    new ProcessorError('signature_invalid'),
    new TypeError('ours'),
  ])('%o is nobody else’s', error => {
    expect(outboundFailureOf(error, { host: 'a.example', status: 200 })).toBeUndefined();
  });

  it('docs/failures.md has every code with who mends it, and no other', () => {
    const rows = [...section('Codes').matchAll(/^\| `(\w+)` \| (\w+) \| .{10,} \|$/gm)];
    expect(Object.fromEntries(rows.map(([, code, mends]) => [code, mends]))).toEqual(outboundFailureCodes);
  });

  it('docs/failures.md has every cause of ours, and no other', () => {
    const errors = [
      ...authorizationErrorCodes.map(code => new AuthorizationError(code)),
      ...(['unavailable', 'refused', 'signature_invalid'] as const).map(code => new ProcessorError(code)),
      new ProcessorError('unavailable', { processorCode: 'invalid_answer' }),
      new OutboundError('outbound_timeout', ''),
      new OutboundError('outbound_unreachable', ''),
    ];
    const causes = errors.flatMap(error => outboundFailureOf(error)?.cause ?? []);
    const rows = [...section('What is wrong with the answer').matchAll(/^\| (`\w+`(?:, `\w+`)*) \| .{10,} \|$/gm)];
    const named = rows.flatMap(([, names = '']) => names.split(', ').map(name => name.slice(1, -1)));
    expect(named.sort()).toEqual([...new Set(causes)].sort());
  });
});
