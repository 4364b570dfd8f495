import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { isLocalKey } from '../../platform/config/vault-config.ts';
import { type OpenedVault, openVault } from '../../sealing/open-vault.ts';
import { type Finding, failed, ok } from './findings.ts';

/** Seals and opens a value with every key of a key service. Stores nothing. */
export async function checkKeyServices(config: GatewayConfig): Promise<readonly Finding[]> {
  const kids = config.vault.keys.filter(key => !isLocalKey(key)).map(({ kid }) => kid);
  if (kids.length === 0) return [];
  await using opened = await openVault(config);
  return await Promise.all(kids.map(kid => checkKey(kid, opened)));
}

async function checkKey(kid: string, opened: OpenedVault): Promise<Finding> {
  const check = `vault.keys.${kid}`;
  const fault = await opened.probe(kid);
  if (fault === undefined) return ok(check, 'Its key service encrypts and decrypts.');
  const verb = fault.verb === 'encrypt' ? 'Encrypting' : 'Decrypting';
  return failed(check, `${verb} failed (${fault.error.fault ?? fault.error.code}). ${fault.error.message}`);
}
