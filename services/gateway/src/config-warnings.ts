import { plainName } from '@postern/api';
import type { GatewayDeps } from './deps.ts';
import { namesIn } from './mcp-servers/confusable-names.ts';
import type { GatewayConfig } from './platform/config/config-schema.ts';
import { isLoopbackUrl } from './platform/config/config-values.ts';

/** Warns about valid configurations that are probably mistakes. */
export function warnOfRiskyConfig(
  { redis, publicUrl, trustProxy, mcpServers }: GatewayConfig,
  { logger }: Pick<GatewayDeps, 'logger'>,
): void {
  for (const { id: mcpServerId, payment, apiKeys, jwks } of mcpServers) {
    if (apiKeys.length === 0 && jwks === undefined)
      logger.warn(
        { event: 'mcp_server.no_credential', mcpServerId },
        'this MCP server has no credential in the configuration; only keys of postern api-keys work',
      );
    if (payment === undefined) continue;
    // An MCP server could avoid the passkey or the daily limit by charging in one of these currencies.
    const withoutPasskey = currenciesBeside(payment.passkeyAbove, payment);
    if (withoutPasskey.length > 0)
      logger.warn(
        { event: 'payment.no_passkey', mcpServerId, currencies: withoutPasskey },
        'payments in these currencies never need a passkey, although others do',
      );
    const withoutLimit = currenciesBeside(payment.perPersonAndDay, payment);
    if (withoutLimit.length > 0)
      logger.warn(
        { event: 'payment.no_daily_limit', mcpServerId, currencies: withoutLimit },
        'payments in these currencies have no daily limit, although others do',
      );
  }
  const urls = [redis.url ?? [], redis.cluster ?? [], redis.sentinel?.nodes ?? []].flat();
  if (urls.some(url => url.startsWith('redis:') && !isLoopbackUrl(url))) {
    // Sealed values stay protected, but statuses, subjects and the Redis password are sent in the clear.
    logger.warn({ event: 'redis.without_tls' }, 'the connection to a remote Redis does not use TLS');
  }
  if (publicUrl.startsWith('https:') && trustProxy.length === 0) {
    // The gateway speaks http, so there is a proxy: without trust, every request has the proxy's address.
    logger.warn({ event: 'proxy.not_trusted' }, 'trustProxy is empty: all users share the rate limit of the proxy');
  }
}

/** Returns the currencies of the MCP server that `limits` lacks. Empty if `limits` has no currency at all. */
function currenciesBeside(limits: object, { maxAmount }: { readonly maxAmount: object }): readonly string[] {
  const isLimited = Object.keys(limits).length > 0;
  return isLimited ? Object.keys(maxAmount).filter(currency => !Object.hasOwn(limits, currency)) : [];
}

/** Warns about configured names that users cannot read reliably. They are allowed, because the operator chooses them. */
export function warnOfConfusableNames({
  config,
  registeredNames,
  logger,
}: Pick<GatewayDeps, 'config' | 'registeredNames' | 'logger'>): void {
  for (const name of namesIn(config)) {
    const other = registeredNames.imitatedBy(name)?.path;
    if (!plainName(80).safeParse(name.text).success)
      logger.warn(
        { event: 'name.not_plain', path: name.path },
        'a configured name contains invisible or confusable characters',
      );
    if (other !== undefined)
      logger.warn(
        { event: 'name.confusable', path: name.path, other },
        'a configured name is confusable with another one',
      );
  }
}
