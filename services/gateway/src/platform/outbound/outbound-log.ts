import {
  type AuthorizationError,
  type IdentityProviderConfig,
  OutboundError,
  type ProviderConfig,
} from '@postern/authorization';
import type { CallChannel, CallSubscriber, OutboundCall, OutboundTarget } from '../call-channels.ts';
import { requestContext, runInScope, scope } from '../http/request-context.ts';
import type { Logger } from '../logger.ts';
import {
  type Exchange,
  exchangeOf,
  failedExchange,
  Operation,
  type OutboundFailure,
  outboundFailureCodes,
  outboundFailureOf,
} from './outbound-failure.ts';

/** The third party of an operation, as configured. */
export interface Whose {
  readonly target: OutboundTarget;
  readonly name: string;
  /** Host to log when the operation failed without sending a request, for example because it shared another request. */
  readonly host?: string | undefined;
}

/** Hears of each request, and records its result for its operation. */
const exchanges: CallSubscriber<OutboundCall, Response> = {
  begin({ host }) {
    const operation = currentOperation();
    if (operation !== undefined) operation.last = { host };
  },
  end({ host }, { result, error }) {
    const operation = currentOperation();
    const exchange = exchangeWith(host, result, error);
    if (operation === undefined || exchange === undefined) return;
    operation.last = exchange;
    const failure = failedExchange(exchange);
    if (failure !== undefined && (exchange.error !== undefined || failure.code === 'unavailable'))
      operation.failed.set(exchange, failure);
  },
};

/** Undefined if neither a response nor the lack of one is known: the gateway itself is at fault. */
function exchangeWith(host: string, result: Response | undefined, error: unknown): Exchange | undefined {
  if (result !== undefined) return { host, status: result.status };
  return error instanceof OutboundError ? { host, error } : undefined;
}

function currentOperation(): Operation | undefined {
  const { operation } = scope();
  return operation instanceof Operation ? operation : undefined;
}

export type OutboundLog = ReturnType<typeof createOutboundLog>;

/**
 * Logs every operation that fails because of a third party, and every failed request that the operation did without: name, host and
 * reason. No URL, header, body or foreign error message is logged: `outboundFailureOf` returns only codes and names.
 */
export function createOutboundLog(logger: Pick<Logger, 'warn'>, outbound: CallChannel<OutboundCall, Response>) {
  outbound.subscribe(exchanges);

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
    const operation = new Operation();
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

  /** @param isFailure whether a result counts as a failure without a thrown error */
  async function run<T>(
    whose: Whose,
    work: () => Promise<T>,
    isFailure: (answer: T) => boolean = () => false,
  ): Promise<T> {
    const { operation, threw, ended } = began(whose);
    const answer = await runInScope({ operation }, async () => work()).catch(threw);
    ended(isFailure(answer));
    return answer;
  }

  return {
    run,

    /** Returns the function that does work as an operation at this third party. */
    operationsOf:
      (whose: Whose) =>
      <T>(work: () => Promise<T>): Promise<T> =>
        run(whose, work),

    /** Takes an error that the current operation does without. */
    ignored(error: AuthorizationError): void {
      const operation = currentOperation();
      if (operation === undefined) return;
      const exchange = exchangeOf(error, operation);
      const failure = outboundFailureOf(error, exchange);
      if (failure !== undefined) operation.failed.set(exchange, failure);
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

export const providerAt = ({ name, issuer, tokenEndpoint, mcpResource }: ProviderConfig): Whose => ({
  target: 'provider',
  name,
  host: URL.parse(issuer ?? tokenEndpoint ?? mcpResource ?? '')?.host,
});
