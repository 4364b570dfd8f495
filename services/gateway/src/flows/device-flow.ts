import { AuthorizationError, type Provider, type ProviderRegistry, slowDownMs } from '@postern/authorization';
import {
  type Clock,
  DomainError,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  newAuthorizationState,
  newOperationId,
  shardIn,
  type Trouble,
  type Visitor,
} from '@postern/elicitation';
import type { RedisStores } from '@postern/store-redis';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { Events } from '../events.ts';
import { troubleOf } from './authorization-flow.ts';
import type { GrantKeeping } from './grant-keeping.ts';
import { providerLeaseMs } from './provider-lease.ts';
import { redirectUriOf } from './redirect-uri.ts';
import type { ScopePlan } from './scope-plan.ts';
import { unlessOvertaken } from './unless-overtaken.ts';

const storedSecretSchema = z.object({
  deviceCode: z.string(),
  userCode: z.string(),
  verificationUri: z.string(),
  verificationUriComplete: z.string().exactOptional(),
  destinationHost: z.string(),
  expiresAt: z.number(),
  intervalMs: z.number(),
  dpopKey: z.record(z.string(), z.unknown()).exactOptional(),
  expectedIssuer: z.string().exactOptional(),
  scopes: z.array(z.string()),
  heldScopes: z.array(z.string()),
});
/** JSON has no `undefined`. The issuer is a required property here, so that no request can leave it out by mistake. */
const secretSchema = storedSecretSchema.transform(({ expectedIssuer, ...secret }) => ({ ...secret, expectedIssuer }));
type DeviceSecret = z.infer<typeof secretSchema>;

/** How long it is remembered, after its code is over, that there was one: its person is told so. */
const KEPT_AFTERWARDS_MS = 10 * 60_000;

/** What the person needs to agree at the provider, on any device. */
export type DeviceAttempt = Pick<
  DeviceSecret,
  'userCode' | 'verificationUri' | 'verificationUriComplete' | 'destinationHost' | 'expiresAt'
>;

export type DevicePollResult =
  /** Not agreed yet at the provider. */
  | 'not_yet'
  /** Asked again sooner than the provider wants. */
  | 'wait'
  /** The elicitation's own page tells how it stands. */
  | 'settled';

/**
 * The device authorization grant (RFC 8628), for providers that cannot redirect to us. The code is shown only to the person
 * it is for, and the provider is asked only when that person, in that browser, says to have entered it. So nobody can collect
 * here what they made somebody else begin. What no gateway can see is who enters the code: a person who passes their own code on
 * connects the account of whoever enters it (RFC 8628 section 5.4).
 */
export function createDeviceFlow(p: {
  config: { publicUrl: string };
  service: ElicitationService;
  stores: Pick<RedisStores, 'oneTime'> & { readonly leases: Pick<RedisStores['leases'], 'take' | 'release'> };
  vault: Vault;
  providers: ProviderRegistry;
  grantKeeping: GrantKeeping;
  events: Events;
  now: Clock;
  entropy: Entropy;
  /** Longest time one request to a provider takes, in milliseconds. */
  requestLimitMs: number;
}) {
  const context = (digest: string, elicitation: Elicitation) => ({
    purpose: 'device-transaction',
    digest,
    elicitation: elicitation.elicitationId,
  });

  function providerOf({ request }: ElicitationOf<'authorization'>): Provider {
    const provider = p.providers.get(request.provider);
    if (provider === undefined) throw new DomainError('unknown_provider', 'The provider is no longer configured.');
    return provider;
  }

  const redirectUriFor = ({ mcpServerId, request }: ElicitationOf<'authorization'>) =>
    redirectUriOf(p.config.publicUrl, mcpServerId, request.provider);

  /** The attempt in progress, for the browser that began it and nobody else. */
  async function attemptIn(
    elicitation: Elicitation,
    browserBinding: string | undefined,
  ): Promise<DeviceSecret | undefined> {
    if (elicitation.status !== 'active' || browserBinding === undefined) return undefined;
    const record = await p.stores.oneTime.read(shardIn(elicitation.elicitationId), elicitation.attempt);
    if (record?.browserBinding !== browserBinding) return undefined;
    return secretSchema.parse(JSON.parse(await p.vault.open(record.sealed, context(record.digest, elicitation))));
  }

  return {
    /** The person agreed: begins an attempt. @throws AuthorizationError before anything is written; DomainError as `accept`. */
    async begin(
      elicitation: ElicitationOf<'authorization'>,
      visitor: Visitor,
      browserBinding: string,
      plan: ScopePlan,
    ): Promise<void> {
      const { elicitationId, mcpServerId, request } = elicitation;
      const { expiresInMs, ...device } = await providerOf(elicitation).startDevice({
        scopes: plan.requested,
        redirectUri: redirectUriFor(elicitation),
        ...(request.resource === undefined ? {} : { resource: request.resource }),
      });
      const secret = {
        ...device,
        expiresAt: p.now() + expiresInMs,
        scopes: plan.requested,
        heldScopes: plan.held,
      };
      // Random, like a `state`; it never leaves the gateway.
      const digest = digestOf(newAuthorizationState(shardIn(elicitationId), p.entropy));
      const sealed = await p.vault.seal(JSON.stringify(secret), context(digest, elicitation));
      await p.service.accept(
        elicitationId,
        visitor,
        {
          record: { digest, elicitationId, mcpServerId, provider: request.provider, browserBinding, sealed },
          ttlMs: expiresInMs + KEPT_AFTERWARDS_MS,
        },
        [...plan.requested, ...plan.held],
      );
    },

    /** Undefined when the code is over. Changes nothing. */
    async shown(elicitation: Elicitation, browserBinding: string | undefined): Promise<DeviceAttempt | undefined> {
      const secret = await attemptIn(elicitation, browserBinding);
      return secret !== undefined && p.now() < secret.expiresAt ? secret : undefined;
    },

    /** The person says that the code is entered: the provider is asked once. */
    async poll(
      elicitation: ElicitationOf<'authorization'>,
      browserBinding: string | undefined,
    ): Promise<DevicePollResult> {
      const secret = await attemptIn(elicitation, browserBinding);
      if (secret === undefined || elicitation.status !== 'active') return 'settled';
      const { elicitationId, attempt, request } = elicitation;
      const comeBack = async (trouble: Trouble, missing?: readonly string[]): Promise<DevicePollResult> => {
        await unlessOvertaken(p.service.retry(elicitationId, attempt, trouble, missing));
        return 'settled';
      };
      if (p.now() >= secret.expiresAt) return comeBack('start_again');
      // RFC 8628 section 3.5: never sooner than the interval and what a `slow_down` adds to it, however many tabs are open.
      const pollName = digestOf(`device poll ${attempt}`);
      if (!(await p.stores.oneTime.claim(pollName, secret.intervalMs + slowDownMs))) return 'wait';
      // And one at a time, however slow the provider is, so that the one grant has one taker.
      const holder = newOperationId(p.entropy);
      if (!(await p.stores.leases.take({ name: pollName, holder, leaseMs: providerLeaseMs(p.requestLimitMs) })))
        return 'wait';
      try {
        const answer = await providerOf(elicitation).pollDevice({
          deviceCode: secret.deviceCode,
          scopes: secret.scopes,
          heldScopes: secret.heldScopes,
          redirectUri: redirectUriFor(elicitation),
          ...(request.resource === undefined ? {} : { resource: request.resource }),
          expectedIssuer: secret.expectedIssuer,
          ...(secret.dpopKey === undefined ? {} : { dpopKey: secret.dpopKey }),
        });
        switch (answer.result) {
          case 'pending':
            return 'not_yet';
          case 'slow_down':
            return 'wait';
          case 'denied':
            return comeBack('provider_denied');
          case 'expired':
            return comeBack('start_again');
          case 'granted': {
            const kept = await p.grantKeeping(elicitation, attempt, answer.grant, redirectUriFor(elicitation));
            return kept.result === 'wrong_account' || kept.result === 'fewer_scopes'
              ? comeBack(kept.result, kept.missing)
              : 'settled';
          }
        }
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        const { mcpServerId } = elicitation;
        p.events.callbackRefused({ reason: error.code, mcpServerId, provider: request.provider, elicitationId });
        // The code stays good while the provider is merely away.
        return error.code === 'provider_unavailable' ? 'wait' : comeBack(troubleOf(error));
      } finally {
        await p.stores.leases.release({ name: pollName, holder });
      }
    },
  };
}

export type DeviceFlow = ReturnType<typeof createDeviceFlow>;
