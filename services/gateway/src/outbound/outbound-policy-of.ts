import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { OutboundPolicy } from '@postern/authorization';
import { ConfigError } from '../config/config-error.ts';
import type { GatewayConfig } from '../config/config-schema.ts';
import { isLoopbackUrl } from '../config/loopback.ts';
import { definedOnly } from '../defined-only.ts';

/**
 * What the configuration says of every request that leaves.
 * @throws ConfigError where `outbound.caFile` cannot be read or holds no certificate
 */
export function outboundPolicyOf({
  publicUrl,
  outbound,
}: Pick<GatewayConfig, 'publicUrl' | 'outbound'>): OutboundPolicy {
  const { privateHosts, proxy, caFile } = outbound;
  return {
    allowLoopback: isLoopbackUrl(publicUrl),
    privateHosts,
    ...definedOnly({ proxy, ca: caFile === undefined ? undefined : certificatesIn(caFile) }),
  };
}

function certificatesIn(path: string): string {
  const fault = (message: string) => new ConfigError([{ path: 'outbound.caFile', message }]);
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch {
    throw fault(`${path} cannot be read`);
  }
  try {
    new X509Certificate(pem);
  } catch {
    throw fault(`${path} has no certificate in PEM`);
  }
  return pem;
}
