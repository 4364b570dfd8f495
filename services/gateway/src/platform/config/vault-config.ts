import { hkdfSync } from 'node:crypto';
import { z } from 'zod';
import { webUrl } from './config-values.ts';

/** 32 random bytes in base64. */
export const symmetricKey = z
  .string()
  .refine(value => Buffer.from(value, 'base64').byteLength === 32 && /^[A-Za-z0-9+/_-]{43}=?$/.test(value), {
    error: 'must be 32 bytes in base64 (openssl rand -base64 32)',
  })
  .refine(value => new Set(Buffer.from(value, 'base64')).size > 8, { error: 'is not random' })
  .meta({ pattern: '^[A-Za-z0-9+/_-]{43}=?$' })
  .transform(value => new Uint8Array(Buffer.from(value, 'base64')));

const kid = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/);

const localKeySchema = z.strictObject({
  kid,
  service: z.literal('local').optional().describe('Default: the key is in `key`.'),
  key: symmetricKey,
});

const transitKeySchema = z
  .strictObject({
    kid,
    service: z.literal('vault-transit').describe('The key stays in HashiCorp Vault or OpenBao.'),
    key: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,128}$/)
      .describe('Name of the key in the Transit engine.'),
    keyVersion: z
      .int()
      .min(1)
      .default(1)
      .describe('Version of the key that seals and opens. For the next version, add another key with a new kid.'),
    url: webUrl.describe('Base URL of the service. Plain http only on this machine.'),
    mount: z
      .string()
      .regex(/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/)
      .default('transit')
      .describe('Path of the Transit engine.'),
    namespace: z
      .string()
      .regex(/^[A-Za-z0-9._/-]{1,256}$/)
      .optional(),
    token: z.string().min(1).optional().describe('Token, from the environment: `${env:VAULT_TOKEN}`.'),
    tokenFile: z
      .string()
      .min(1)
      .optional()
      .describe('File with the token. The gateway reads it again for every request, so an agent can replace it.'),
    caFile: z
      .string()
      .min(1)
      .optional()
      .describe('PEM file with the certificate authority of the service. Default: `outbound.caFile`.'),
  })
  .refine(({ token, tokenFile }) => (token === undefined) !== (tokenFile === undefined), {
    error: 'needs either token or tokenFile',
  })
  .meta({ oneOf: [{ required: ['token'] }, { required: ['tokenFile'] }] });

const awsKeySchema = z.strictObject({
  kid,
  service: z.literal('aws-kms').describe('The key stays in AWS KMS. Needs the package @aws-sdk/client-kms.'),
  key: z
    .string()
    .regex(/^arn:aws[a-z-]{0,20}:kms:[a-z0-9-]{1,40}:\d{12}:key\/[A-Za-z0-9-]{1,64}$/, {
      error: 'must be the ARN of a key',
    })
    .describe('ARN of the symmetric key. It names the region.'),
});

const moduleKeySchema = z.strictObject({
  kid,
  service: z.literal('module').describe('The key stays in a service for which you wrote the adapter.'),
  key: z.string().min(1).max(2_048).describe('Name of the key in the service, for the adapter.'),
  module: z
    .string()
    .min(1)
    .describe('Path of the JavaScript module of the adapter. docs/key-services.md has an example.'),
});

export const vaultConfigSchema = z.strictObject({
  keys: z
    .array(z.discriminatedUnion('service', [localKeySchema, transitKeySchema, awsKeySchema, moduleKeySchema]))
    .min(1)
    .describe('The gateway seals with the first key and opens with all of them.'),
  transactionKey: symmetricKey
    .optional()
    .describe(
      'Required with a key service. 32 bytes in base64, on all replicas. Seals what is under way for minutes, such as a sign-in, so ' +
        'that no anonymous request reaches the key service.',
    ),
  keyServices: z
    .strictObject({
      cachedKeys: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(10_000)
        .describe('Number of values whose content key stays in memory. Each needs about 400 bytes.'),
      cacheSeconds: z
        .int()
        .min(0)
        .max(86_400)
        .default(300)
        .describe(
          'How long a content key stays in memory, and how long it still opens its value after you disable its key.',
        ),
      timeoutSeconds: z.number().min(0.1).max(10).default(2).describe('Timeout of one request to a key service.'),
    })
    .prefault({})
    .describe('How the gateway uses key services.'),
});

export type VaultConfig = z.infer<typeof vaultConfigSchema>;
export type VaultKeyConfig = VaultConfig['keys'][number];
export type LocalKeyConfig = z.infer<typeof localKeySchema>;
export type TransitKeyConfig = z.infer<typeof transitKeySchema>;

export const isLocalKey = (key: VaultKeyConfig): key is LocalKeyConfig =>
  key.service === undefined || key.service === 'local';

/** Whether any key stays in a key service. */
export const hasKeyService = ({ keys }: Pick<VaultConfig, 'keys'>): boolean => !keys.every(isLocalKey);

/** The kid of the key that is derived from `transactionKey`. */
export const TRANSACTION_KID = '.transactions';

export function vaultFaults({ keys, transactionKey }: VaultConfig): { path: string; message: string }[] {
  return [
    ...keys.flatMap(({ kid: name }, at) =>
      name === TRANSACTION_KID ? [{ path: `vault.keys[${at}].kid`, message: 'is a reserved name' }] : [],
    ),
    ...(hasKeyService({ keys }) && transactionKey === undefined
      ? [{ path: 'vault.transactionKey', message: 'is required with a key service (openssl rand -base64 32)' }]
      : []),
  ];
}

/**
 * Returns the secret that all replicas share: `vault.transactionKey`, or the last local key, which stays last when a new key is put first.
 * A valid configuration has one of them.
 */
export function sharedSecretOf({ vault }: { readonly vault: VaultConfig }): Uint8Array {
  const secret = vault.transactionKey ?? vault.keys.findLast(isLocalKey)?.key;
  if (secret === undefined) throw new TypeError('the configuration requires vault.transactionKey with a key service');
  return secret;
}

/** Derives a key of 32 bytes from the shared secret, the same on all replicas. @param purpose of this key only */
export const sharedKeyFor = (config: { readonly vault: VaultConfig }, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', sharedSecretOf(config), '', purpose, 32));
