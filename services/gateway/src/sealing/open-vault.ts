import { hkdfSync } from 'node:crypto';
import { createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import {
  createKeyRing,
  createVault,
  type KeyEncryptionService,
  type KeyServiceFault,
  type SealContext,
  type Vault,
  VaultError,
  type VaultKey,
} from '@postern/vault';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { isLoopbackUrl } from '../platform/config/config-values.ts';
import {
  isLocalKey,
  TRANSACTION_KID,
  type TransitKeyConfig,
  type VaultKeyConfig,
} from '../platform/config/vault-config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics/create-metrics.ts';
import { certificatesIn, configuredHosts, outboundPolicyOf } from '../platform/outbound/outbound-policy-of.ts';
import { periodic } from '../platform/periodic.ts';
import { createAwsKms } from './key-services/aws-kms.ts';
import { guardKeyService } from './key-services/guarded-key-service.ts';
import { loadKeyService } from './key-services/module-key-service.ts';
import { createVaultTransit } from './key-services/vault-transit.ts';
import { lastingPurposes } from './seal-contexts.ts';

type Config = Pick<GatewayConfig, 'publicUrl' | 'outbound' | 'vault'>;

export interface OpenedVault extends AsyncDisposable {
  readonly vault: Vault;
  /** Keys whose service did not work when it was last asked. */
  readonly keyFaults: ReadonlyMap<string, KeyServiceFault>;
  /**
   * Seals and opens a value with one key. Returns undefined if both work.
   * @param kid of a configured key
   */
  probe(kid: string): Promise<ProbeFault | undefined>;
}

export interface ProbeFault {
  readonly verb: 'encrypt' | 'decrypt';
  readonly error: VaultError;
}

export interface OpenVaultOptions {
  /** Called when the service of a key begins to fail, fails for another reason, or works again (undefined). */
  readonly onKeyService?: (kid: string, fault: KeyServiceFault | undefined) => void;
  /** Monotonic time in milliseconds, in tests. */
  readonly now?: () => number;
}

/**
 * Creates the vault of a configuration. Sends no request before a value is sealed or opened.
 * @throws ConfigError, StartError, VaultError
 */
export async function openVault(config: Config, options: OpenVaultOptions = {}): Promise<OpenedVault> {
  const { keys, transactionKey, keyServices } = config.vault;
  await using connections = new AsyncDisposableStack();
  const keyFaults = new Map<string, KeyServiceFault>();
  const now = options.now ?? (() => performance.now());

  const guarded = (kid: string, service: KeyEncryptionService) =>
    guardKeyService(service, {
      now,
      onState(fault) {
        if (fault === undefined) keyFaults.delete(kid);
        else keyFaults.set(kid, fault);
        options.onKeyService?.(kid, fault);
      },
    });
  const vaultKeys: VaultKey[] = [];
  for (const [at, key] of keys.entries()) {
    if (isLocalKey(key)) vaultKeys.push({ kid: key.kid, key: key.key });
    else vaultKeys.push({ kid: key.kid, service: guarded(key.kid, await serviceOf(key, config, at, connections)) });
  }
  const vaultOptions = {
    keyServiceTimeoutMs: keyServices.timeoutSeconds * 1_000,
    contentKeys: { count: keyServices.cachedKeys, ms: keyServices.cacheSeconds * 1_000 },
    now,
  };
  const lasting = createVault(createKeyRing(vaultKeys), vaultOptions);
  const transactions = transactionKeysOf(keys, transactionKey);
  const held = connections.move();
  return {
    vault: transactions === undefined ? lasting : byPurpose(lasting, createVault(createKeyRing(transactions))),
    keyFaults,
    async probe(kid) {
      const { keyServiceTimeoutMs } = vaultOptions;
      return probeOf(createVault(createKeyRing(vaultKeys.filter(key => key.kid === kid)), { keyServiceTimeoutMs }));
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function probeOf(vault: Vault): Promise<ProbeFault | undefined> {
  const context = { purpose: 'probe' };
  let verb: ProbeFault['verb'] = 'encrypt';
  try {
    const sealed = await vault.seal('probe', context);
    verb = 'decrypt';
    await vault.open(sealed, context);
    return undefined;
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    return { verb, error };
  }
}

async function serviceOf(
  key: Exclude<VaultKeyConfig, { readonly key: Uint8Array }>,
  config: Config,
  at: number,
  connections: AsyncDisposableStack,
): Promise<KeyEncryptionService> {
  switch (key.service) {
    case 'vault-transit':
      return createVaultTransit({ ...key, fetch: connections.use(transitFetch(key, config, at)) });
    case 'aws-kms':
      return connections.use(await createAwsKms(key)).service;
    case 'module':
      return await loadKeyService(key);
  }
}

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 64 * 1024;

function transitFetch({ url, caFile }: TransitKeyConfig, config: Config, at: number): OutboundFetch {
  const policy = outboundPolicyOf(config);
  return createOutboundFetch({
    ...policy,
    ca: caFile === undefined ? policy.ca : certificatesIn(caFile, `vault.keys[${at}].caFile`),
    // An agent on this machine may hold the credentials.
    allowLoopback: isLoopbackUrl(url),
    configuredHosts: configuredHosts(url),
    maxBytes: MAX_BYTES,
    timeoutMs: config.vault.keyServices.timeoutSeconds * 1_000,
  });
}

/** Returns the keys of values that are under way. Undefined without a key service: then the vault keys seal everything. */
function transactionKeysOf(keys: readonly VaultKeyConfig[], secret: Uint8Array | undefined): VaultKey[] | undefined {
  const local = keys.filter(isLocalKey).map(({ kid, key }) => ({ kid, key }));
  if (secret === undefined || local.length === keys.length) return undefined;
  const derived = {
    kid: TRANSACTION_KID,
    key: new Uint8Array(hkdfSync('sha256', secret, '', 'postern transactions, 1', 32)),
  };
  // While a local key is the first, replicas without the key service can still open what this replica seals.
  return keys[0] !== undefined && isLocalKey(keys[0]) ? [...local, derived] : [derived, ...local];
}

/** S121: chooses the vault by purpose, never by what the value says, so a forged value cannot cause a request to a key service. */
function byPurpose(lasting: Vault, transactions: Vault): Vault {
  const of = ({ purpose }: SealContext) => (lastingPurposes.has(purpose) ? lasting : transactions);
  return {
    kids: lasting.kids,
    seal: (plaintext, context) => of(context).seal(plaintext, context),
    open: (sealed, context) => of(context).open(sealed, context),
    reseal: (sealed, context) => of(context).reseal(sealed, context),
  };
}

/** Pause between probes of a key whose service does not work, in milliseconds. */
const PROBE_MS = 10_000;

/**
 * Opens the vault of a running gateway. Tries each key of a key service at the start, without delaying it, and again while it does not
 * work, so that readiness recovers without a request. Logs every change.
 * @throws ConfigError, StartError, VaultError
 */
export async function openWatchedVault(
  config: GatewayConfig,
  p: { readonly logger: Logger; readonly metrics: Pick<Metrics, 'keyService'> | undefined; readonly probeMs?: number },
): Promise<OpenedVault> {
  const { logger, metrics } = p;
  const opened = await openVault(config, {
    onKeyService(kid, fault) {
      metrics?.keyService(kid, fault === undefined);
      if (fault === undefined) logger.info({ event: 'key_service.available', kid }, 'key service available');
      else logger.warn({ event: 'key_service.unavailable', kid, fault }, 'key service unavailable');
    },
  });
  const kids = config.vault.keys.filter(key => !isLocalKey(key)).map(({ kid }) => kid);
  const probing = kids.map(kid => {
    metrics?.keyService(kid, true);
    let isUntried = true;
    return periodic({
      every: p.probeMs ?? PROBE_MS,
      isImmediate: true,
      async run() {
        const isDue = isUntried || opened.keyFaults.has(kid);
        isUntried = false;
        if (isDue) await opened.probe(kid);
      },
      onError: error => logger.error({ event: 'key_service.probe_failed', kid, error }, 'probing a key service failed'),
    });
  });
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      for (const probes of probing) void probes.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}
