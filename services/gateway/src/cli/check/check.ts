import { existsSync } from 'node:fs';
import { createOutboundFetch, type OutboundFetch } from '@postern/authorization';
import { hasWebhooks, loadWebhooks } from '../../events/webhooks/start-deliveries.ts';
import { wrapFetch } from '../../platform/call-channels.ts';
import { ConfigError } from '../../platform/config/config-error.ts';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import type { ConsoleConfig } from '../../platform/config/console-config.ts';
import { loadConfig } from '../../platform/config/load-config.ts';
import { hasRedis } from '../../platform/config/redis-config.ts';
import { withOptionalPackages } from '../../platform/optional-packages.ts';
import { configuredHostsOf, outboundPolicyOf } from '../../platform/outbound/outbound-policy-of.ts';
import { type CliIo, type ExitCode, exitCodes } from '../cli-io.ts';
import type { Invocation } from '../command.ts';
import { checked, type Finding, failed, ok, reportOf } from './findings.ts';
import { checkKeyServices } from './key-service-check.ts';
import { checkClock, checkKeyFiles, checkKeys } from './local-checks.ts';
import { checkProcessor } from './processor-check.ts';
import { checkPublicUrl } from './public-url-check.ts';
import { checkIdentityProvider, checkProvider } from './server-checks.ts';
import { checkStore } from './store-check.ts';
import { checkToken, readToken } from './token-check.ts';

/** Requests that one check sends one after the other, at most. The store has timeouts of its own. */
const REQUESTS = 4;
const STORE_MS = 30_000;
const LOAD_MS = 30_000;

/**
 * `postern check`: looks for faults before users do. Changes no record, neither here nor at Redis, providers and processors. Every check
 * has a deadline, so a hanging host does not stop the others. Exits with 1 if a check failed.
 */
export async function check(p: Invocation, io: CliIo): Promise<ExitCode> {
  const tokenFile = p.values['token-file'];
  const token = tokenFile === undefined ? undefined : readToken(tokenFile);
  const findings = await findingsOf(p.args[0] ?? p.configPath, token, io);
  const isOk = findings.every(({ status }) => status !== 'failed');
  io.out(p.json ? `${JSON.stringify({ result: isOk ? 'ok' : 'failed', findings })}\n` : reportOf(findings));
  return isOk ? exitCodes.ok : exitCodes.failure;
}

async function findingsOf(configPath: string, token: string | undefined, io: CliIo): Promise<readonly Finding[]> {
  const files = new Set<string>();
  let config: GatewayConfig;
  let policy: ReturnType<typeof policyOf>;
  try {
    config = loadConfig(configPath, io.env, path => files.add(path));
    policy = policyOf(config);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ path, message }) => failed('configuration', `${path || configPath}: ${message}`));
  }
  files.delete(configPath);
  await using outbound = createOutboundFetch(policy);
  await using ownOutbound = createOutboundFetch(ownPolicyOf(config, policy));
  const leads = new Map<string, number>();
  const clocked = withClock(outbound, leads);
  const now = Date.now;
  const limitMs = REQUESTS * policy.timeoutMs;
  const about = { config, fetch: clocked, now };
  const { timeoutMs } = policy;
  const checks = [
    checked('files', limitMs, async () => checkKeyFiles([...files, ...tokenFilesOf(config)], now)),
    checked('vault.keyServices', limitMs, () => checkKeyServices(config)),
    checked(hasRedis(config) ? 'redis' : 'store.file', STORE_MS, () =>
      checkStore(config, leadMs => leads.set('Redis', leadMs)),
    ),
    ...config.identityProviders.map(each =>
      checked(`identityProvider.${each.name}`, limitMs, () =>
        checkIdentityProvider(each, { ...about, publicUrl: config.publicUrl, of: 'users' }),
      ),
    ),
    ...(config.console === undefined ? [] : [checkConsole(config.console, limitMs, about)]),
    ...config.providers.map(each => checked(`provider.${each.name}`, limitMs, () => checkProvider(each, about))),
    ...config.processors.map(each =>
      checked(`processor.${each.name}`, limitMs, () =>
        checkProcessor(each, { publicUrl: config.publicUrl, fetch: clocked, timeoutMs }),
      ),
    ),
    ...(config.telemetry === undefined ? [] : [checkPackages('telemetry', loadTelemetry)]),
    ...(hasWebhooks(config) ? [checkPackages('webhooks', loadWebhooks)] : []),
    ...(token === undefined ? [] : [checked('token', limitMs, () => checkToken(token, about))]),
    checked('publicUrl', limitMs, () => checkPublicUrl(config, ownOutbound)),
  ];
  const found = (await Promise.all(checks)).flat();
  return [ok('configuration', `${configPath} is valid.`), ...checkKeys(config), ...found, ...checkClock(leads)];
}

/** Whether the optional packages of a part are installed. */
const checkPackages = (part: string, load: () => Promise<unknown>) =>
  checked(part, LOAD_MS, async () => {
    await load();
    return [ok(part, 'The packages that it needs are installed.')];
  });

/** Checks the identity provider of the operators, under the name that its redirect URI has. */
function checkConsole(
  { identityProvider, publicUrl }: ConsoleConfig,
  limitMs: number,
  about: Omit<Parameters<typeof checkIdentityProvider>[1], 'publicUrl' | 'of'>,
) {
  return checked('console.identityProvider', limitMs, () =>
    checkIdentityProvider({ ...identityProvider, name: 'console' }, { ...about, publicUrl, of: 'operators' }),
  );
}

/** Files that the gateway reads while it runs. A missing one is a fault of its key service. */
function tokenFilesOf({ vault }: GatewayConfig): readonly string[] {
  const paths = vault.keys.flatMap(key => ('tokenFile' in key ? (key.tokenFile ?? []) : []));
  return [...new Set(paths)].filter(path => existsSync(path));
}

/** The policy of the gateway for third parties. */
function policyOf(config: GatewayConfig) {
  return {
    ...outboundPolicyOf(config),
    timeoutMs: config.outbound.timeoutSeconds * 1_000,
    configuredHosts: configuredHostsOf(config),
  };
}

/** The operator's own origin may have a private address, and any port. */
function ownPolicyOf({ publicUrl }: GatewayConfig, policy: ReturnType<typeof policyOf>) {
  const { protocol, host } = new URL(publicUrl);
  return { ...policy, privateHosts: [...(policy.privateHosts ?? []), ...(protocol === 'https:' ? [host] : [])] };
}

/** Notes by how much the clock of each host is ahead, from the `Date` of its responses (RFC 9110 section 6.6.1: whole seconds). */
function withClock(outbound: OutboundFetch, leads: Map<string, number>): OutboundFetch {
  return wrapFetch(outbound, async (url, init) => {
    const before = Date.now();
    const response = await outbound(url, init);
    const date = Date.parse(response.headers.get('date') ?? '');
    const leadMs = date > Date.now() ? date - Date.now() : Math.min(0, date + 1_000 - before);
    const host = URL.parse(String(url))?.host ?? '';
    // One wrong response is enough: replicas of a host may have clocks of their own.
    if (!Number.isNaN(leadMs) && Math.abs(leadMs) >= Math.abs(leads.get(host) ?? 0)) leads.set(host, leadMs);
    return response;
  });
}

const loadTelemetry = () => withOptionalPackages('Traces', () => import('../../platform/telemetry/telemetry.ts'));
