import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { OutboundPolicy } from '@postern/authorization';
import { ConfigError } from '../config/config-error.ts';
import type { GatewayConfig } from '../config/config-schema.ts';
import { isLoopbackUrl } from '../config/config-values.ts';

/**
 * Returns the configured policy for all outbound requests.
 * @throws ConfigError if `outbound.caFile` cannot be read or contains no certificate
 */
export function outboundPolicyOf({
  publicUrl,
  outbound,
}: Pick<GatewayConfig, 'publicUrl' | 'outbound'>): OutboundPolicy {
  const { privateHosts, proxy, caFile } = outbound;
  return {
    allowLoopback: isLoopbackUrl(publicUrl),
    privateHosts,
    proxy,
    ca: caFile === undefined ? undefined : certificatesIn(caFile, 'outbound.caFile'),
  };
}

/**
 * Reads the certificates of additional authorities.
 * @param member the setting that names the file
 * @throws ConfigError if the file cannot be read or contains no certificate
 */
export function certificatesIn(path: string, member: string): string {
  const fault = (message: string) => new ConfigError([{ path: member, message }]);
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

/** Returns the hosts of authorization servers and MCP servers that outbound requests may reach at a port other than 443. */
export const configuredHostsOf = (
  config: Pick<GatewayConfig, 'identityProviders' | 'providers' | 'mcpServers' | 'console'>,
): string[] =>
  configuredHosts([
    ...[config.identityProviders, config.console?.identityProvider],
    ...[config.providers, config.mcpServers],
  ]);

/**
 * Returns the hosts with a port other than 443 in the https URLs of a part of the configuration, as `host:port`. The operator wrote
 * them, so outbound requests to them are allowed.
 */
export function configuredHosts(part: unknown): string[] {
  if (typeof part === 'string') {
    const url = part.startsWith('https://') ? URL.parse(part) : null;
    return url === null || url.port === '' ? [] : [url.host];
  }
  if (typeof part !== 'object' || part === null) return [];
  return [...new Set(Object.values(part).flatMap(configuredHosts))];
}
