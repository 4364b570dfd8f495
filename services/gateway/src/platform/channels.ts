import type { Logger } from 'pino';
import { CallChannel } from './call-channel.ts';

/**
 * Kind of the third party that an outbound request is for. Never its host, which may come from metadata. The operators' sign-in is a
 * target of its own: an identity provider of users may have any name.
 */
export type OutboundTarget =
  | 'identity_provider'
  | 'operator_sign_in'
  | 'provider'
  | 'processor'
  | 'credential_check'
  | 'webhook';

/** A request to a third party. Without path, query, headers and body, which may contain codes and tokens. */
export interface OutboundCall {
  readonly target: OutboundTarget;
  readonly method: string;
  /** With the port, unless it is the usual one. */
  readonly host: string;
  readonly hostname: string;
}

/** A command of the store, by the name of its script or command, never with its arguments. */
export interface StoreCall {
  readonly command: string;
  /** Set when it has failed. */
  fault?: { readonly kind: string; readonly code: string } | undefined;
}

/** A step of the gateway: a verb of the domain, a refresh, a revocation, an attempt of a webhook. */
export interface StepCall {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Of an issue: the kind of the request. */
  readonly kind?: string;
}

/** What a gateway publishes of its calls. Created once for a gateway, and disposed of with it. */
export interface Channels extends Disposable {
  readonly outbound: CallChannel<OutboundCall, Response>;
  readonly store: CallChannel<StoreCall>;
  readonly step: CallChannel<StepCall>;
}

export function createChannels(logger: Pick<Logger, 'error'>): Channels {
  const own = <Call extends object, Result = unknown>(name: string) =>
    new CallChannel<Call, Result>(name, error =>
      logger.error({ event: 'observer.failed', channel: name, error }, 'metrics, spans or log of calls failed'),
    );
  const channels = {
    outbound: own<OutboundCall, Response>('postern:outbound'),
    store: own<StoreCall>('postern:store'),
    step: own<StepCall>('postern:step'),
  };
  return {
    ...channels,
    [Symbol.dispose]() {
      for (const channel of Object.values(channels)) channel[Symbol.dispose]();
    },
  };
}
