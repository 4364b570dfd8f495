import type { KeyAge, Stores } from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { createApiKeyAdmin, statusOfApiKey } from '../mcp-servers/api-key-admin.ts';
import { digestIn, idOfFileKey } from '../mcp-servers/api-keys.ts';
import { receiptKeysOf } from '../payments/receipt-keys.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import type { Logger } from '../platform/logger.ts';

type KeyConfig = Pick<GatewayConfig, 'vault' | 'receipts' | 'mcpServers'>;

/** A kid has no colon, so these names and the ids of API keys differ. */
const vaultKeyName = (kid: string) => `vault:${kid}`;
const receiptKeyName = (kid: string) => `receipts:${kid}`;

const receiptKids = (config: KeyConfig) => receiptKeysOf(config).published.map(({ kid }) => kid);

/** Notes the keys of a configuration that a gateway begins to use. Without Redis, the next start or reload notes them. */
export async function noteKeysOf(
  config: KeyConfig,
  { stores, logger }: { readonly stores: Pick<Stores, 'keyAges'>; readonly logger: Pick<Logger, 'warn'> },
): Promise<void> {
  const fileKeys = config.mcpServers.flatMap(({ apiKeys }) => apiKeys.map(({ hash }) => idOfFileKey(digestIn(hash))));
  const names = [
    ...config.vault.keys.map(({ kid }) => vaultKeyName(kid)),
    ...receiptKids(config).map(receiptKeyName),
    ...fileKeys,
  ];
  await stores.keyAges
    .note(names)
    .catch((error: unknown) => logger.warn({ event: 'keys.unnoted', error }, 'noting the ages of keys failed'));
}

const iso = (at: number) => new Date(at).toISOString();

interface ReportedAge {
  /** Absent if it is not known. */
  readonly since?: string;
  readonly isOrEarlier?: true;
}

const ageOf = (age: KeyAge | undefined): ReportedAge =>
  age === undefined ? {} : { since: iso(age.since), ...(age.isOrEarlier ? { isOrEarlier: true } : {}) };

/** API keys in a report, the oldest first. The list of API keys has all. */
const OLDEST = 10;

/** The keys of the deployment and their ages: never a key. */
export function createKeyReport(p: {
  readonly config: KeyConfig;
  readonly stores: Pick<Stores, 'apiKeys' | 'keyAges'>;
  readonly vault: Vault;
  readonly now: () => number;
}) {
  const apiKeyAdmin = createApiKeyAdmin(p);
  const receipts = receiptKids(p.config);
  return async () => {
    const [{ ages }, listed] = await Promise.all([p.stores.keyAges.read(), apiKeyAdmin.list()]);
    const valid = listed.filter(each => statusOfApiKey(each, p.now()) === 'valid');
    // A key without a known age may be the oldest.
    const oldest = valid.toSorted((a, b) => (a.age?.since ?? 0) - (b.age?.since ?? 0)).slice(0, OLDEST);
    return {
      vaultKeys: p.vault.kids.map((kid, at) => ({ kid, seals: at === 0, ...ageOf(ages.get(vaultKeyName(kid))) })),
      receiptKeys: receipts.map((kid, at) => ({ kid, signs: at === 0, ...ageOf(ages.get(receiptKeyName(kid))) })),
      apiKeys: {
        valid: valid.length,
        oldest: oldest.map(({ apiKeyId, mcpServerId, source, name, expires, age, lastUsedAt }) => ({
          apiKeyId,
          mcpServerId,
          source,
          name,
          expires,
          ...ageOf(age),
          lastUsedAt: lastUsedAt === undefined ? undefined : iso(lastUsedAt),
        })),
      },
    };
  };
}
