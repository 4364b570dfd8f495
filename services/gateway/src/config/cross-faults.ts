import { chargeRangeOf, passkeyRpIdOf } from '@postern/payment';
import type { ConfigFault } from './config-error.ts';
import type { GatewayConfig, McpServerConfig } from './config-schema.ts';
import { isLoopbackHost, isLoopbackUrl } from './loopback.ts';
import { redisFaults } from './redis-config.ts';
import { leavesRoom } from './storage-quota.ts';

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

/** What no single field can know: names that must be unique and references that must lead somewhere. */
export function crossFaults(config: GatewayConfig): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });

  for (const name of repeated(config.mcpServers.map(server => server.id)))
    fault('mcpServers', `"${name}" is there twice`);
  for (const name of repeated(config.providers.map(provider => provider.name)))
    fault('providers', `"${name}" is there twice`);
  for (const name of repeated(config.processors.map(processor => processor.name)))
    fault('processors', `"${name}" is there twice`);
  for (const kid of repeated(config.receipts.keys?.map(key => key.kid) ?? []))
    fault('receipts.keys', `"${kid}" is there twice`);
  for (const name of repeated(config.identityProviders.map(provider => provider.name)))
    fault('identityProviders', `"${name}" is there twice`);
  for (const name of repeated(config.identityProviders.map(provider => provider.issuer)))
    fault('identityProviders', `issuer ${name} is there twice`);
  for (const name of repeated(config.vault.keys.map(key => key.kid))) fault('vault.keys', `"${name}" is there twice`);
  // A key that opens two MCP servers would let one of them act as the other.
  for (const hash of repeated(config.mcpServers.flatMap(server => server.apiKeys.map(key => key.hash))))
    fault('mcpServers', `an API key is there twice (${hash.slice(0, 15)}…)`);
  // Also where the hosts differ: one of them may be every address of the machine.
  if (config.metrics !== undefined && config.metrics.port === config.listen.port && config.metrics.port !== 0)
    fault('metrics.port', 'must not be the public port');
  faults.push(...redisFaults(config.redis));

  config.processors.forEach(({ secretKey, testMode }, at) => {
    const isTestKey = secretKey.includes('_test_');
    // Whoever pays at a public gateway believes that it is real.
    if (isTestKey && !testMode && !isLoopbackUrl(config.publicUrl))
      fault(
        `processors[${at}].secretKey`,
        'is a test key on a public gateway: set testMode if no payment is to move money',
      );
    if (!isTestKey && testMode) fault(`processors[${at}].testMode`, 'is on, and the key is a live one');
  });

  const recognitionOf = new Map<string, string>();
  const providers = new Map(config.providers.map(provider => [provider.name, provider]));
  const processors = new Set(['none', ...config.processors.map(processor => processor.name)]);
  const issuers = new Set(config.identityProviders.map(provider => provider.issuer));
  config.mcpServers.forEach((server, at) => {
    const path = `mcpServers[${at}]`;
    if (!leavesRoom(server, config))
      fault(`${path}.limits.storedMegabytes`, 'leaves too little beside events.retained');
    for (const name of server.providers)
      if (!providers.has(name)) fault(`${path}.providers`, `"${name}" is not configured`);
    faults.push(
      ...paymentFaults(config, server, processors).map(found => ({ ...found, path: `${path}.${found.path}` })),
    );
    for (const id of repeated(server.webhooks.map(webhook => webhook.id)))
      fault(`${path}.webhooks`, `"${id}" is there twice`);
    server.webhooks.forEach(({ url }, endpoint) => {
      // The outbound guard would refuse every delivery.
      if (isLoopbackUrl(url) && !isLoopbackUrl(config.publicUrl))
        fault(`${path}.webhooks[${endpoint}].url`, 'may be on a loopback address only where publicUrl is');
    });
    // The application is asked when the browser comes back with a code, and from the device flow none comes back.
    for (const name of server.providers)
      if (server.identity.mode === 'external' && providers.get(name)?.flow === 'device')
        fault(`${path}.providers`, `"${name}" has no redirect, which identity mode external needs`);
    // A connection is only as sure of its person as the MCP server it was made for, so all that share it must be as sure.
    if (server.group !== undefined) {
      const first = recognitionOf.get(server.group) ?? recognition(server);
      recognitionOf.set(server.group, first);
      if (first !== recognition(server))
        fault(`${path}.group`, `the MCP servers of "${server.group}" must share identity mode and application`);
    }
    if (server.identity.mode === 'login') {
      for (const issuer of server.issuers)
        if (!issuers.has(issuer)) fault(`${path}.issuers`, `no identity provider with issuer ${issuer} is configured`);
    }
    if (server.identity.mode === 'loopback' && !isLoopbackUrl(config.publicUrl)) {
      fault(`${path}.identity`, 'loopback needs a publicUrl on a loopback address');
    }
    // Everybody who can connect is taken for the one person there is.
    if (server.identity.mode === 'loopback' && !isLoopbackHost(config.listen.host)) {
      fault(`${path}.identity`, 'loopback needs a listen.host that is a loopback address');
    }
  });
  return faults;
}

/** A limit that no processor of the MCP server could ever take: every such payment would be refused. */
function limitFaults(
  { processors: configured }: GatewayConfig,
  { processors: names, maxAmount }: NonNullable<McpServerConfig['payment']>,
): ConfigFault[] {
  const processors = configured.filter(({ name }) => names.includes(name));
  // The MCP server itself takes the money of `none`, in any amount. Names that lead nowhere are faults already.
  if (names.includes('none') || processors.length === 0) return [];
  return Object.entries(maxAmount).flatMap(([currency, limit]) => {
    const path = `payment.maxAmount.${currency}`;
    const ranges = processors.flatMap(processor => chargeRangeOf(processor, currency) ?? []);
    if (ranges.length === 0) return [{ path, message: 'is a currency that none of the processors takes' }];
    const min = Math.min(...ranges.map(range => range.min));
    if (limit < min) return [{ path, message: `is below ${min}, the least that its processors take` }];
    const max = Math.max(...ranges.map(range => range.max));
    return limit > max ? [{ path, message: `is above ${max}, the most that its processors take` }] : [];
  });
}

function paymentFaults(
  config: GatewayConfig,
  { kinds, payment }: McpServerConfig,
  processors: ReadonlySet<string>,
): ConfigFault[] {
  if (payment === undefined) {
    return kinds?.includes('payment') === true
      ? [{ path: 'payment', message: 'is needed for kind payment: processors and limits' }]
      : [];
  }
  const faults = payment.processors
    .filter(name => !processors.has(name))
    .map(name => ({ path: 'payment.processors', message: `"${name}" is not configured` }));
  faults.push(...limitFaults(config, payment));
  // Nobody is ever asked for such an amount: the threshold is of another currency than was meant.
  for (const currency of Object.keys(payment.passkeyAbove))
    if (!Object.hasOwn(payment.maxAmount, currency))
      faults.push({ path: `payment.passkeyAbove.${currency}`, message: 'has no maxAmount, so it is never paid in' });
  for (const [currency, limit] of Object.entries(payment.firstPasskeyUpTo)) {
    const path = `payment.firstPasskeyUpTo.${currency}`;
    const above = payment.passkeyAbove[currency];
    if (!Object.hasOwn(payment.maxAmount, currency))
      faults.push({ path, message: 'has no maxAmount, so it is never paid in' });
    else if (above !== undefined && limit <= above)
      faults.push({ path, message: `is not above ${above}, up to which no passkey is needed` });
  }
  // WebAuthn names a relying party by its domain, and an address has none.
  if (Object.keys(payment.passkeyAbove).length > 0 && passkeyRpIdOf(config.publicUrl) === undefined)
    faults.push({ path: 'payment.passkeyAbove', message: 'needs a publicUrl with a host name (localhost will do)' });
  return faults;
}

/** Who says which person is at the browser: the identity providers, one application, or nobody. */
function recognition({ identity }: McpServerConfig): string {
  return identity.mode === 'external' ? `external ${new URL(identity.verifyUrl).origin}` : identity.mode;
}
