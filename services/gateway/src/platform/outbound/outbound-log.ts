import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type IdentityProviderConfig,
  OutboundError,
  type OutboundFetch,
  type ProviderConfig,
  type ProviderRegistry,
} from '@postern/authorization';
import { definedOnly } from '@postern/elicitation';
import { requestContext } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import type { OutboundTarget } from '../metrics/create-metrics.ts';
import {
  type Exchange,
  failedExchange,
  type OutboundFailure,
  outboundFailureCodes,
  outboundFailureOf,
} from './outbound-failure.ts';
import { wrapFetch } from './wrap-fetch.ts';

/** The third party of an operation, as configured. */
export interface Whose {
  readonly target: OutboundTarget;
  readonly name: string;
  /** Host to log when the operation failed without sending a request, for example because it shared another request. */
  readonly host?: string;
}

/** Last exchange of the current operation. */
const exchanges = new AsyncLocalStorage<{ last: Exchange }>();

/** Records the result of each request for its operation. */
export function noted(fetch: OutboundFetch): OutboundFetch {
  return wrapFetch(fetch, async (url, init) => {
    const operation = exchanges.getStore() ?? { last: {} };
    const host = URL.parse(String(url))?.host ?? '';
    operation.last = { host };
    try {
      const response = await fetch(url, init);
      operation.last = { host, status: response.status };
      return response;
    } catch (error) {
      if (error instanceof OutboundError) operation.last = { host, error };
      throw error;
    }
  });
}

export type OutboundLog = ReturnType<typeof createOutboundLog>;

/**
 * Logs every operation that fails because of a third party: its name, host and reason. No URL, header, body or foreign error
 * message is
 * logged: `outboundFailureOf` returns only codes and names.
 */
export function createOutboundLog(logger: Pick<Logger, 'warn'>) {
  function report(
    whose: Whose,
    { host = whose.host, status }: Exchange,
    failure: OutboundFailure | undefined,
    ms: number,
  ) {
    if (failure === undefined) return;
    const context = requestContext();
    if (context !== undefined && outboundFailureCodes[failure.code] === 'operator') context.needsOperator = true;
    const { target, name } = whose;
    logger.warn(
      {
        ...{ event: 'outbound.failed', target, name, host },
        ...failure,
        ...definedOnly({ status }),
        ms: Math.round(ms),
      },
      'outbound request failed',
    );
  }

  function began(whose: Whose) {
    const operation: { last: Exchange } = { last: {} };
    const at = performance.now();
    return {
      operation,
      threw(error: unknown): never {
        report(whose, operation.last, outboundFailureOf(error, operation.last), performance.now() - at);
        throw error;
      },
      ended: () => report(whose, operation.last, failedExchange(operation.last), performance.now() - at),
    };
  }

  return {
    /** @param isFailure whether a result counts as a failure without a thrown error */
    async run<T>(whose: Whose, work: () => Promise<T>, isFailure: (answer: T) => boolean = () => false): Promise<T> {
      const { operation, threw, ended } = began(whose);
      const answer = await exchanges.run(operation, work).catch(threw);
      if (isFailure(answer)) ended();
      return answer;
    },

    /** Wraps an object so that each method call is a separate operation. */
    watched<T extends object>(whose: Whose, part: T): T {
      return new Proxy(part, {
        get(target, key) {
          const member: unknown = Reflect.get(target, key);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]): unknown => {
            const { operation, threw } = began(whose);
            try {
              const answer: unknown = exchanges.run(operation, () => Reflect.apply(member, target, args));
              return answer instanceof Promise ? answer.catch(threw) : answer;
            } catch (error) {
              return threw(error);
            }
          };
        },
      });
    },
  };
}

export const identityProviderAt = (
  { name, issuer }: IdentityProviderConfig,
  target: 'identity_provider' | 'operator_sign_in' = 'identity_provider',
): Whose => ({
  target,
  name,
  host: new URL(issuer).host,
});

/** Wraps the providers to log their failed operations. */
export function watchedProviders(
  registry: ProviderRegistry,
  configs: readonly ProviderConfig[],
  log: OutboundLog,
): ProviderRegistry {
  const watched = new Map(
    configs.flatMap(({ name, issuer, tokenEndpoint, mcpResource }) => {
      const provider = registry.get(name);
      const host = URL.parse(issuer ?? tokenEndpoint ?? mcpResource ?? '')?.host;
      const whose = { target: 'provider', name, ...definedOnly({ host }) } as const;
      return provider === undefined ? [] : [[name, log.watched(whose, provider)] as const];
    }),
  );
  return { ...registry, get: name => watched.get(name) };
}
