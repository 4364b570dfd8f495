import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { parseConfig } from '../config/load-config.ts';
import { sampleConfig } from '../testing/sample-config.ts';
import { outboundPolicyOf } from './outbound-policy-of.ts';

const directory = mkdtempSync(join(tmpdir(), 'postern-outbound-'));
afterAll(() => rmSync(directory, { recursive: true }));

function policyOf(outbound: object) {
  return outboundPolicyOf(parseConfig(sampleConfig({ outbound })));
}
function written(text: string): string {
  const path = join(directory, `file-${text.length}`);
  writeFileSync(path, text);
  return path;
}

describe('S79: outbound.caFile and outbound.proxy', () => {
  it('reach every request that leaves', () => {
    const [certificate = ''] = rootCertificates;
    const proxy = 'http://user:secret@proxy.internal:3128';
    expect(policyOf({ caFile: written(certificate), proxy })).toMatchObject({ ca: certificate, proxy });
    expect(policyOf({})).toEqual({ allowLoopback: expect.any(Boolean), privateHosts: [] });
  });

  it.each([
    ['that is not there', join(directory, 'none'), / cannot be read$/],
    ['without a certificate', written('no PEM'), / has no certificate in PEM$/],
  ])('a file %s stops the start by its path', (_, caFile, message) => {
    const refused = expect.objectContaining({
      faults: [{ path: 'outbound.caFile', message: expect.stringMatching(message) }],
    });
    expect(() => policyOf({ caFile })).toThrow(refused);
  });

  it.each(['proxy:3128', 'socks5://proxy:1080', 'http://proxy:3128/path', 'http://proxy?x'])(
    '%s is no proxy',
    proxy => {
      expect(() => policyOf({ proxy })).toThrow(/outbound\.proxy/);
    },
  );
});
