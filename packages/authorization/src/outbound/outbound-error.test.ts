import { describe, expect, it } from 'vitest';
import { asOutboundError, OutboundError } from './outbound-policy.ts';

const foreign = (code: unknown) =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('https://a.example/?code=SECRET'), { code }) });

describe('S78: asOutboundError', () => {
  it('keeps only the code of an error of a library', () => {
    const error = asOutboundError(foreign('CERT_HAS_EXPIRED'), 'a.example');
    expect(error).toMatchObject({ code: 'outbound_unreachable', host: 'a.example', systemCode: 'CERT_HAS_EXPIRED' });
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toContain('SECRET');
  });

  it.each([['/?code=SECRET'], ['ghp_SECRET'], ['EVIL\nLINE'], [`E${'X'.repeat(64)}`], [''], [7], [undefined]])(
    'drops the malformed code %j',
    code => {
      const error = asOutboundError(foreign(code), 'a.example');
      expect(error).toBeInstanceOf(OutboundError);
      expect(error.systemCode).toBeUndefined();
    },
  );

  it.each(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])(
    'maps %s to a timeout',
    code => {
      expect(asOutboundError(foreign(code), 'a.example')).toMatchObject({ code: 'outbound_timeout', systemCode: code });
    },
  );
});
