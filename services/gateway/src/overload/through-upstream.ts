import { AuthorizationError, type Provider, type ProviderRegistry, type SignIn } from '@postern/authorization';
import { type PaymentProcessor, ProcessorError } from '@postern/payment';
import { ProblemError } from '../http/problem-error.ts';
import type { Upstream } from './upstream.ts';

/** Pause asked of callers while too many requests wait for a provider, in ms. */
const FULL_PAUSE_MS = 2_000;

/** What an MCP server is answered when its request needs a provider that is not asked now. */
export const providerNotAsked = (provider: string, retryAfterMs = FULL_PAUSE_MS) =>
  new ProblemError('provider_unavailable', { provider, retryAfterMs });

const noAnswer = () => {
  throw new AuthorizationError('provider_unavailable');
};

/** A code is good once and for a short time, so nothing stops what leads to its exchange. */
export function providerThrough({ ask, insist }: Upstream, provider: Provider): Provider {
  return {
    ...provider,
    destinationHost: () => ask(async () => provider.destinationHost(), noAnswer),
    start: request => ask(() => provider.start(request), noAnswer),
    validateCallback: request => insist(() => provider.validateCallback(request)),
    exchange: request => insist(() => provider.exchange(request)),
    finish: request => insist(() => provider.finish(request)),
    startDevice: request => ask(() => provider.startDevice(request), noAnswer),
    pollDevice: request => ask(() => provider.pollDevice(request), noAnswer),
    refresh: request => ask(() => provider.refresh(request), noAnswer),
    revoke: request => ask(() => provider.revoke(request), noAnswer),
  };
}

/** One registry for each provider, so that they share no metadata: a provider that waits keeps no other waiting. */
export function providersThrough(
  upstreamOf: (name: string) => Upstream,
  registries: readonly ProviderRegistry[],
): ProviderRegistry {
  const providers = new Map(
    registries.flatMap(registry =>
      registry.names.flatMap(name => {
        const provider = registry.get(name);
        return provider === undefined ? [] : [[name, providerThrough(upstreamOf(name), provider)] as const];
      }),
    ),
  );
  return { get: name => providers.get(name), names: [...providers.keys()] };
}

export function signInThrough({ ask, insist }: Upstream, signIn: SignIn): SignIn {
  return {
    start: request => ask(() => signIn.start(request), noAnswer),
    finish: callback => insist(() => signIn.finish(callback)),
  };
}

/** Verifies a token of an MCP server's caller, with keys of the identity provider `name`. */
export async function verifyThrough<T>(upstream: Upstream, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await upstream.ask(work, () => {
      throw providerNotAsked(name);
    });
  } catch (error) {
    const isStopped = error instanceof AuthorizationError && error.code === 'provider_unavailable';
    throw isStopped && upstream.pausedMs > 0 ? providerNotAsked(name, upstream.pausedMs) : error;
  }
}

/** Whether money was taken must be known, so nothing stops the reading of a charge. */
export function processorThrough({ ask, insist }: Upstream, processor: PaymentProcessor): PaymentProcessor {
  const unavailable = () => {
    throw new ProcessorError('unavailable');
  };
  return {
    ...processor,
    open: charge => ask(() => processor.open(charge), unavailable),
    close: reference => ask(() => processor.close(reference), unavailable),
    status: reference => insist(() => processor.status(reference)),
  };
}
