import { type CallerBody, CONTRACT_REVISION, defaultText } from '@postern/api';
import { calculateJwkThumbprint } from 'jose';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { hasRedis } from '../platform/config/redis-config.ts';
import { notOffered } from '../platform/config/store-capabilities.ts';
import { packageVersion } from '../platform/package-version.ts';
import type { ApiHandlers } from './api-handlers.ts';
import type { RegisteredMcpServer } from './registered-mcp-server.ts';

type Config = Pick<GatewayConfig, 'publicUrl' | 'providers' | 'processors' | 'redis'>;

/** The registration of the caller under the configuration in force. */
export const callerHandlers = (deps: { readonly config: Config }): ApiHandlers<'readCaller'> => ({
  readCaller: ({ caller }) => presentCaller(caller, deps.config),
});

/** Names each member instead of copying objects of the configuration, which also hold secrets. */
async function presentCaller(caller: RegisteredMcpServer, config: Config): Promise<CallerBody> {
  const { id, name, url, identity, returnUrls, limits, encryption } = caller.config;
  return {
    mcpServerId: id,
    name: defaultText(name),
    url,
    gateway: {
      version: packageVersion,
      contract: CONTRACT_REVISION,
      publicUrl: config.publicUrl,
      ...(hasRedis(config) ? {} : { notOffered: [...notOffered(config)] }),
    },
    kinds: [...caller.kinds],
    providers: config.providers.flatMap(provider =>
      caller.providers.includes(provider.name) ? [shown(provider)] : [],
    ),
    issuers: [...caller.issuers],
    audience: [...caller.audience],
    identity: identity.mode === 'external' ? { mode: identity.mode, verifyUrl: identity.verifyUrl } : identity,
    payment: caller.kinds.includes('payment') ? paymentOf(caller, config) : undefined,
    returnUrls: [...returnUrls],
    limits: {
      requestsPerMinute: limits.requestsPerMinute,
      elicitationsPerSubject: caller.limits.subjectMax,
      openElicitationsPerSubject: caller.limits.openMax,
      subjectWindowSeconds: limits.subjectWindowSeconds,
      maxTtlSeconds: limits.maxTtlSeconds,
    },
    ...(encryption && {
      encryption: {
        thumbprint: await calculateJwkThumbprint(encryption.key),
        required: encryption.required,
        kid: encryption.key.kid,
      },
    }),
  };
}

function shown(provider: Config['providers'][number]): CallerBody['providers'][number] {
  const { name, displayName, preset, scopes, defaultScopes, flow, dpop } = provider;
  return {
    name,
    displayName,
    defaultScopes: [...defaultScopes],
    flow,
    dpop: dpop === 'required',
    preset,
    scopes: scopes && Object.keys(scopes),
  };
}

function paymentOf({ payment, config }: RegisteredMcpServer, { processors }: Config): CallerBody['payment'] {
  if (payment === undefined) return undefined;
  const keys = new Map(processors.map(({ name, secretKey }) => [name, secretKey]));
  return {
    currencies: Object.fromEntries(
      Object.entries(payment.maxMinorUnits).map(([currency, maxMinorUnits]) => [currency, { maxMinorUnits }]),
    ),
    processors: payment.processors.map(name => {
      const key = keys.get(name);
      return key === undefined ? { name } : { name, mode: key.includes('_test_') ? 'test' : 'live' };
    }),
    payees: config.payment?.payees.map(({ name }) => name) ?? [],
  };
}
