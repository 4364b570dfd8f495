import { issuersOf, rootedUrl } from '@postern/authorization';
import { accentFault } from '@postern/pages';
import { chargeRangeOf, passkeyRpIdOf } from '@postern/payment';
import type { ConfigFault } from './config-error.ts';
import type { ParsedConfig } from './config-schema.ts';
import { isLoopbackHost, isLoopbackUrl } from './config-values.ts';
import { leavesRoom, type McpServerConfig } from './mcp-server-config.ts';
import type { RedisConfig } from './redis-config.ts';
import { storeFaults } from './store-capabilities.ts';
import { isLocalKey, vaultFaults } from './vault-config.ts';

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}

/** Checks across fields: names must be unique and references must exist. */
export function crossFaults(config: ParsedConfig): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });

  for (const name of repeated(config.mcpServers.map(server => server.id)))
    fault('mcpServers', `"${name}" occurs twice`);
  for (const name of repeated(config.providers.map(provider => provider.name)))
    fault('providers', `"${name}" occurs twice`);
  for (const name of repeated(config.processors.map(processor => processor.name)))
    fault('processors', `"${name}" occurs twice`);
  for (const kid of repeated(config.receipts.keys?.map(key => key.kid) ?? []))
    fault('receipts.keys', `"${kid}" occurs twice`);
  for (const name of repeated(config.identityProviders.map(provider => provider.name)))
    fault('identityProviders', `"${name}" occurs twice`);
  for (const name of repeated(config.identityProviders.flatMap(issuersOf).map(rootedUrl)))
    fault('identityProviders', `issuer ${name} occurs twice`);
  for (const name of repeated(config.vault.keys.map(key => key.kid))) fault('vault.keys', `"${name}" occurs twice`);
  faults.push(...vaultFaults(config.vault));
  // Keys of receipts are derived from local keys only.
  if (config.receipts.keys === undefined && !config.vault.keys.some(isLocalKey))
    fault('receipts.keys', 'is required if all vault keys are in a key service (postern receipts new-key)');
  // With an API key of two MCP servers, one of them could act as the other.
  for (const hash of repeated(config.mcpServers.flatMap(server => server.apiKeys.map(key => key.hash))))
    fault('mcpServers', `an API key occurs twice (${hash.slice(0, 15)}…)`);
  // Even with different hosts: one of them may be all addresses of the machine.
  if (config.metrics !== undefined && config.metrics.port === config.listen.port && config.metrics.port !== 0)
    fault('metrics.port', 'must differ from listen.port');
  faults.push(...consoleFaults(config), ...adminApiFaults(config));
  const accent = accentFault(config.branding);
  if (accent !== undefined) fault(`branding.${accent.setting}`, accent.message);
  faults.push(...redisFaults(config.redis), ...storeFaults(config));

  config.processors.forEach(({ secretKey, testMode }, at) => {
    const isTestKey = secretKey.includes('_test_');
    // Users of a public gateway expect a payment to be real.
    if (isTestKey && !testMode && !isLoopbackUrl(config.publicUrl))
      fault(
        `processors[${at}].secretKey`,
        'is a test key on a public gateway: set testMode if payments must not move money',
      );
    if (!isTestKey && testMode) fault(`processors[${at}].testMode`, 'is true, but secretKey is a live key');
  });

  faults.push(...webhookFaults(config, config.operatorWebhooks, 'operatorWebhooks'));
  const recognitionOf = new Map<string, string>();
  const providers = new Map(config.providers.map(provider => [provider.name, provider]));
  const processors = new Set(['none', ...config.processors.map(processor => processor.name)]);
  const issuers = new Set(config.identityProviders.flatMap(issuersOf));
  config.mcpServers.forEach((server, at) => {
    const path = `mcpServers[${at}]`;
    const ownAccent = accentFault(server.branding ?? {});
    if (ownAccent !== undefined) fault(`${path}.branding.${ownAccent.setting}`, ownAccent.message);
    if (!leavesRoom(server, config))
      fault(`${path}.limits.storedMegabytes`, 'is too small: the events of events.retained need most of it');
    for (const name of server.providers)
      if (!providers.has(name)) fault(`${path}.providers`, `"${name}" is not configured`);
    faults.push(
      ...paymentFaults(config, server, processors).map(found => ({ ...found, path: `${path}.${found.path}` })),
    );
    faults.push(...webhookFaults(config, server.webhooks, `${path}.webhooks`));
    // The application verifies the user when the browser returns with a code; in the device flow no browser returns.
    for (const name of server.providers)
      if (server.identity.mode === 'external' && providers.get(name)?.flow === 'device')
        fault(`${path}.providers`, `"${name}" uses the device flow, but identity mode external needs a redirect`);
    // MCP servers that share a connection must identify users in the same way: it is as reliable as the weakest of them.
    if (server.group !== undefined) {
      const first = recognitionOf.get(server.group) ?? recognition(server);
      recognitionOf.set(server.group, first);
      if (first !== recognition(server))
        fault(
          `${path}.group`,
          `all MCP servers of group "${server.group}" must have the same identity mode and application`,
        );
    }
    if (server.issuers.length === 0)
      fault(
        `${path}.issuers`,
        server.identity.mode === 'login'
          ? `is needed, because there is not exactly one identity provider with one issuer: name some of ${[...issuers].join(', ') || 'identityProviders'}`
          : `is needed with identity mode ${server.identity.mode}: the issuers of the users that this MCP server names`,
      );
    if (server.identity.mode === 'login') {
      for (const issuer of server.issuers)
        if (!issuers.has(issuer)) fault(`${path}.issuers`, `no identity provider with issuer ${issuer} is configured`);
    }
    if (server.identity.mode === 'loopback' && !isLoopbackUrl(config.publicUrl)) {
      fault(`${path}.identity`, 'mode loopback needs a publicUrl on a loopback address');
    }
    // In this mode everyone who can connect is taken for the only user.
    if (server.identity.mode === 'loopback' && !isLoopbackHost(config.listen.host)) {
      fault(`${path}.identity`, 'mode loopback needs a loopback address as listen.host');
    }
  });
  return faults;
}

/** Never on the address of the pages, which everybody reaches, or of the console, whose host name browsers know. */
function adminApiFaults({ adminApi, console, listen, metrics }: ParsedConfig): ConfigFault[] {
  const others = [listen.port, metrics?.port, console?.listen.port];
  if (adminApi === undefined || adminApi.port === 0 || !others.includes(adminApi.port)) return [];
  return [{ path: 'adminApi.port', message: 'must differ from listen.port, metrics.port and console.listen.port' }];
}

function consoleFaults({ console, publicUrl, listen, metrics }: ParsedConfig): ConfigFault[] {
  if (console === undefined) return [];
  const faults: ConfigFault[] = [];
  // Cookies ignore ports (RFC 6265 section 8.5): each page on this host name would get the sessions of the operators.
  if (new URL(console.publicUrl).hostname === new URL(publicUrl).hostname)
    faults.push({ path: 'console.publicUrl', message: 'must have another host name than publicUrl' });
  if (isLoopbackUrl(console.publicUrl) && !isLoopbackUrl(publicUrl))
    faults.push({ path: 'console.publicUrl', message: 'may be on a loopback address only if publicUrl is' });
  if (console.listen.port !== 0 && [listen.port, metrics?.port].includes(console.listen.port))
    faults.push({ path: 'console.listen.port', message: 'must differ from listen.port and metrics.port' });
  const { viewer, support, operator } = console.roles;
  if ([...viewer, ...support, ...operator].length === 0)
    faults.push({ path: 'console.roles', message: 'needs at least one value of the claim that gives a role' });
  return faults;
}

function webhookFaults(
  { publicUrl }: ParsedConfig,
  webhooks: readonly { readonly id: string; readonly url: string }[],
  path: string,
): ConfigFault[] {
  const twice = repeated(webhooks.map(({ id }) => id)).map(id => ({ path, message: `"${id}" occurs twice` }));
  // The outbound policy would refuse every delivery.
  const message = 'may be on a loopback address only if publicUrl is';
  const isRefused = (url: string) => isLoopbackUrl(url) && !isLoopbackUrl(publicUrl);
  const refused = webhooks.flatMap(({ url }, at) => (isRefused(url) ? [{ path: `${path}[${at}].url`, message }] : []));
  return [...twice, ...refused];
}

/** Finds limits that no processor of the MCP server accepts: every such payment would be refused. */
function limitFaults(
  { processors: configured }: ParsedConfig,
  { processors: names, maxAmount }: NonNullable<McpServerConfig['payment']>,
): ConfigFault[] {
  const processors = configured.filter(({ name }) => names.includes(name));
  // With `none` the MCP server itself charges, any amount. Unknown names are reported elsewhere.
  if (names.includes('none') || processors.length === 0) return [];
  return Object.entries(maxAmount).flatMap(([currency, limit]) => {
    const path = `payment.maxAmount.${currency}`;
    const ranges = processors.flatMap(processor => chargeRangeOf(processor, currency) ?? []);
    if (ranges.length === 0) return [{ path, message: 'is a currency that none of the processors accepts' }];
    const min = Math.min(...ranges.map(range => range.min));
    if (limit < min) return [{ path, message: `is below ${min}, the minimum of its processors` }];
    const max = Math.max(...ranges.map(range => range.max));
    return limit > max ? [{ path, message: `is above ${max}, the maximum of its processors` }] : [];
  });
}

/** With a processor, the person approves a payee. Only a registered one says where the money goes. */
function payeeFaults(
  { processors, payees }: NonNullable<McpServerConfig['payment']>,
  configured: ReadonlySet<string>,
): ConfigFault[] {
  const path = 'payment.payees';
  if (payees.length === 0 && processors.some(name => name !== 'none' && configured.has(name)))
    return [{ path, message: 'is empty: the processors take payments only for registered payees' }];
  const twice = repeated(payees.map(({ name }) => name)).map(name => ({ path, message: `"${name}" occurs twice` }));
  const unused = payees.flatMap(({ accounts }, at) =>
    Object.keys(accounts)
      .filter(name => name === 'none' || !processors.includes(name))
      .map(name => ({ path: `${path}[${at}].accounts.${name}`, message: 'is not a processor of this MCP server' })),
  );
  return [...twice, ...unused];
}

function paymentFaults(
  config: ParsedConfig,
  { kinds, payment }: McpServerConfig,
  processors: ReadonlySet<string>,
): ConfigFault[] {
  if (payment === undefined) {
    return kinds?.includes('payment') === true
      ? [{ path: 'payment', message: 'is required for kind payment: set processors and limits' }]
      : [];
  }
  const faults = payment.processors
    .filter(name => !processors.has(name))
    .map(name => ({ path: 'payment.processors', message: `"${name}" is not configured` }));
  faults.push(...limitFaults(config, payment));
  faults.push(...payeeFaults(payment, processors));
  // Such a payment is never issued: the operator probably meant another currency.
  for (const currency of Object.keys(payment.passkeyAbove))
    if (!Object.hasOwn(payment.maxAmount, currency))
      faults.push({
        path: `payment.passkeyAbove.${currency}`,
        message: 'has no maxAmount: the gateway refuses payments in this currency',
      });
  for (const [currency, { passkeyAbove, max }] of Object.entries(payment.perPersonAndDay)) {
    const path = `payment.perPersonAndDay.${currency}`;
    const maxAmount = payment.maxAmount[currency];
    if (maxAmount === undefined)
      faults.push({ path, message: 'has no maxAmount: the gateway refuses payments in this currency' });
    // The gateway would issue payments that the user can never approve.
    else if (max !== undefined && max < maxAmount)
      faults.push({ path: `${path}.max`, message: `is below ${maxAmount}, the maxAmount of one payment` });
    if (max !== undefined && passkeyAbove !== undefined && passkeyAbove >= max)
      faults.push({ path: `${path}.passkeyAbove`, message: `must be below max (${max})` });
  }
  for (const [currency, limit] of Object.entries(payment.firstPasskeyUpTo)) {
    const path = `payment.firstPasskeyUpTo.${currency}`;
    const above = payment.passkeyAbove[currency];
    if (!Object.hasOwn(payment.maxAmount, currency))
      faults.push({ path, message: 'has no maxAmount: the gateway refuses payments in this currency' });
    else if (above !== undefined && limit <= above)
      faults.push({ path, message: `must be above passkeyAbove (${above}), or it has no effect` });
  }
  // WebAuthn names a relying party by its domain, and an address has none.
  const needsHostName = 'passkeys need a publicUrl with a host name, such as localhost';
  const hasDailyPasskey = Object.values(payment.perPersonAndDay).some(({ passkeyAbove }) => passkeyAbove !== undefined);
  if (passkeyRpIdOf(config.publicUrl) === undefined) {
    if (Object.keys(payment.passkeyAbove).length > 0)
      faults.push({ path: 'payment.passkeyAbove', message: needsHostName });
    if (hasDailyPasskey) faults.push({ path: 'payment.perPersonAndDay', message: needsHostName });
  }
  return faults;
}

/** How users are identified: by the identity providers, by one application, or not at all. */
function recognition({ identity }: McpServerConfig): string {
  return identity.mode === 'external' ? `external ${new URL(identity.verifyUrl).origin}` : identity.mode;
}

/** Faults of the section `redis` alone. @internal */
export function redisFaults(redis: RedisConfig): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });
  const { url, cluster, sentinel, tls } = redis;
  if ([url, cluster, sentinel].filter(address => address !== undefined).length > 1)
    fault('redis', 'set only one of url, cluster and sentinel');
  for (const [path, urls] of Object.entries({ 'redis.cluster': cluster, 'redis.sentinel.nodes': sentinel?.nodes })) {
    // The settings of the first URL apply to all nodes, including discovered ones.
    if (new Set(urls?.map(signInOf)).size > 1)
      fault(path, 'all URLs must have the same scheme, user name and password');
  }
  const urls = [url ?? [], cluster ?? [], sentinel?.nodes ?? []].flat();
  if (tls !== undefined && !urls.some(address => address.startsWith('rediss:')))
    fault('redis.tls', 'needs a rediss:// address');
  if ((tls?.certFile === undefined) !== (tls?.keyFile === undefined))
    fault('redis.tls', 'set certFile and keyFile together');
  return faults;
}

function signInOf(url: string): string {
  const { protocol, username, password } = new URL(url);
  return [protocol, username, password].join(' ');
}
