import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type AuthorizationError,
  type IdentityProviderConfig,
  OutboundError,
  type OutboundFetch,
  type ProviderConfig,
  type ProviderRegistry,
} from '@postern/authorization';
import { requestContext } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import type { OutboundTarget } from '../metrics/create-metrics.ts';
import {
  type Exchange,
  exchangeOf,
  failedExchange,
  type Operation,
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

/** The current operation. */
const operations = new AsyncLocalStorage<Operation>();

/** Records the result of each request for its operation. */
export function noted(fetch: OutboundFetch): OutboundFetch {
  return wrapFetch(fetch, async (url, init) => {
    const operation = operations.getStore() ?? newOperation();
    const host = URL.parse(String(url))?.host ?? '';
    const ended = (exchange: Exchange) => {
      operation.last = exchange;
      const failure = failedExchange(exchange);
      if (failure !== undefined && (exchange.error !== undefined || failure.code === 'unavailable'))
        operation.failed.set(exchange, failure);
    };
    operation.last = { host };
    try {
      const response = await fetch(url, init);
      ended({ host, status: response.status });
      return response;
    } catch (error) {
      if (error instanceof OutboundError) ended({ host, error });
      throw error;
    }
  });
}

const newOperation = (): Operation => ({ last: {}, failed: new Map() });

export type OutboundLog = ReturnType<typeof createOutboundLog>;

/**
 * Logs every operation that fails because of a third party, and every failed request that the operation did without: name, host and
 * reason. No URL, header, body or foreign error message is logged: `outboundFailureOf` returns only codes and names.
 */
export function createOutboundLog(logger: Pick<Logger, 'warn'>) {
  function log(whose: Whose, { host = whose.host, status }: Exchange, failure: OutboundFailure, ms: number) {
    const { target, name } = whose;
    logger.warn(
      {
        event: 'outbound.failed',
        target,
        name,
        host,
        ...failure,
        status,
        ms: Math.round(ms),
      },
      'outbound request failed',
    );
  }

  function began(whose: Whose) {
    const operation = newOperation();
    const at = performance.now();

    /** @param failure of the operation, because of this exchange */
    function report(reason: Exchange, failure: OutboundFailure | undefined): void {
      const ms = performance.now() - at;
      for (const [exchange, own] of operation.failed)
        if (failure === undefined || exchange !== reason) log(whose, exchange, own, ms);
      if (failure === undefined) return;
      log(whose, reason, failure, ms);
      const context = requestContext();
      if (context !== undefined && outboundFailureCodes[failure.code] === 'operator') context.needsOperator = true;
    }

    return {
      operation,
      threw(error: unknown): never {
        const reason = exchangeOf(error, operation);
        report(reason, outboundFailureOf(error, reason));
        throw error;
      },
      ended: (isFailure: boolean) => report(operation.last, isFailure ? failedExchange(operation.last) : undefined),
    };
  }

  return {
    /** @param isFailure whether a result counts as a failure without a thrown error */
    async run<T>(whose: Whose, work: () => Promise<T>, isFailure: (answer: T) => boolean = () => false): Promise<T> {
      const { operation, threw, ended } = began(whose);
      const answer = await operations.run(operation, work).catch(threw);
      ended(isFailure(answer));
      return answer;
    },

    /** Takes an error that the current operation does without. */
    ignored(error: AuthorizationError): void {
      const operation = operations.getStore();
      if (operation === undefined) return;
      const exchange = exchangeOf(error, operation);
      const failure = outboundFailureOf(error, exchange);
      if (failure !== undefined) operation.failed.set(exchange, failure);
    },

    /** Wraps an object so that each method call is a separate operation. */
    watched<T extends object>(whose: Whose, part: T): T {
      return new Proxy(part, {
        get(target, key) {
          const member: unknown = Reflect.get(target, key);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]): unknown => {
            const { operation, threw, ended } = began(whose);
            const returned = (answer: unknown) => {
              ended(false);
              return answer;
            };
            try {
              const answer: unknown = operations.run(operation, () => Reflect.apply(member, target, args));
              return answer instanceof Promise ? answer.then(returned, threw) : answer;
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
      const whose = { target: 'provider', name, host } as const;
      return provider === undefined ? [] : [[name, log.watched(whose, provider)] as const];
    }),
  );
  return { ...registry, get: name => watched.get(name) };
}
