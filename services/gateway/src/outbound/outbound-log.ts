import { AsyncLocalStorage } from 'node:async_hooks';
import { OutboundError, type OutboundFetch } from '@postern/authorization';
import { aroundFetch } from '../around-fetch.ts';
import type { Logger } from '../logger.ts';
import type { OutboundTarget } from '../metrics/create-metrics.ts';
import { requestContext } from '../request-context.ts';
import {
  type Exchange,
  failedExchange,
  type OutboundFailure,
  outboundFailureCodes,
  outboundFailureOf,
} from './outbound-failure.ts';

/** Whom an operation asks, by the configuration. */
export interface Whose {
  readonly target: OutboundTarget;
  readonly name: string;
  /** Host that is named when the operation failed before a request of its own, as where it shares the request of another one. */
  readonly host?: string;
}

/** Of the operation under way. */
const exchanges = new AsyncLocalStorage<{ last: Exchange }>();

/** Notes how each request ended, for the operation that it belongs to. */
export function noted(fetch: OutboundFetch): OutboundFetch {
  return aroundFetch(fetch, async (url, init) => {
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
 * Logs every operation that fails because of a party outside: whose it is, which host, why. No URL, header, body or message of a
 * foreign error gets there: `outboundFailureOf` has only codes and names.
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
        ...(status === undefined ? {} : { status }),
        ms: Math.round(ms),
      },
      'an outbound request failed',
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
    /** @param isFailure tells a failure from what the operation resolves with, where nothing is thrown. */
    async run<T>(whose: Whose, work: () => Promise<T>, isFailure: (answer: T) => boolean = () => false): Promise<T> {
      const { operation, threw, ended } = began(whose);
      const answer = await exchanges.run(operation, work).catch(threw);
      if (isFailure(answer)) ended();
      return answer;
    },

    /** The same part, with every method an operation of its own. */
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
