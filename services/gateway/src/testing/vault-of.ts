import { randomBytes } from 'node:crypto';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { parseConfig } from '../platform/config/load-config.ts';
import { type OpenVaultOptions, openVault } from '../sealing/open-vault.ts';
import { sampleConfig, sampleReceipts } from './sample-config.ts';

type VaultInput = GatewayConfigInput['vault'];

/** Opens the vault of a configuration with these keys, as the gateway does. By default, no content key is kept. */
export const vaultOf = (
  keys: VaultInput['keys'],
  vault: Omit<Partial<VaultInput>, 'keys'> = {},
  options: OpenVaultOptions = {},
) =>
  openVault(
    parseConfig(
      sampleConfig({
        receipts: sampleReceipts,
        vault: {
          keys,
          transactionKey: randomBytes(32).toString('base64'),
          keyServices: { cachedKeys: 0, timeoutSeconds: 10 },
          ...vault,
        },
      }),
    ),
    options,
  );
