import { AuthorizationError, type ProviderRegistry, slowDownMs } from '@postern/authorization';
import {
  type Clock,
  digestOf,
  type Elicitation,
  type ElicitationOf,
  type ElicitationService,
  type Entropy,
  ignoreSuperseded,
  newAuthorizationState,
  newOperationId,
  type RetryReason,
  type Stores,
  shardIn,
  type Visitor,
} from '@postern/elicitation';
import type { Vault } from '@postern/vault';
import { z } from 'zod';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import { redirectUriOf } from '../platform/http/public-urls.ts';
import { deviceContext } from '../sealing/seal-contexts.ts';
import { providerOf, retryReasonOf, type ScopePlan } from './authorization-start.ts';
import { providerLeaseMs } from './revocation-flow.ts';
import type { StoreGrant } from './store-grant.ts';

const storedSecretSchema = z.object({
  deviceCode: z.string(),
  userCode: z.string(),
  verificationUri: z.string(),
  verificationUriComplete: z.string().optional(),
  destinationHost: z.string(),
  expiresAt: z.number(),
  intervalMs: z.number(),
  dpopKey: z.record(z.string(), z.unknown()).optional(),
  expectedIssuer: z.string().optional(),
  clientId: z.string().optional(),
  scopes: z.array(z.string()),
  heldScopes: z.array(z.string()),
  heldAccount: z.string().optional(),
});
/** JSON has no `undefined`. Issuer and client id are required properties, so that no request can omit them by mistake. */
const secretSchema = storedSecretSchema.transform(({ expectedIssuer, clientId, ...secret }) => ({
  ...secret,
  expectedIssuer,
  clientId,
}));
type DeviceSecret = z.infer<typeof secretSchema>;

/** Time that the record is kept after its code has expired, so that the page can say so. */
const RETENTION_MS = 10 * 60_000;

/** The code and URLs with which the user agrees at the provider, on any device. */
export type DeviceAttempt = Pick<
  DeviceSecret,
  'userCode' | 'verificationUri' | 'verificationUriComplete' | 'destinationHost' | 'expiresAt'
>;

export type DevicePollResult =
  /** The user has not agreed at the provider yet. */
  | 'not_yet'
  /** The next poll is not allowed yet. */
  | 'wait'
  /** The page of the elicitation shows the status. */
  | 'settled';

/**
 * The device authorization grant (RFC 8628), for providers that cannot redirect to the gateway. The page shows the code only to the
 * subject. The gateway polls only when the subject says, in the same browser, that the code is entered. So an attacker cannot
 * collect a grant that they made another user begin. The gateway cannot see who enters the code: a user who passes their code on
 * connects the account of the person who enters it (RFC 8628 section 5.4).
 */
export function createDeviceFlow(p: {
  config: { publicUrl: string };
  service: ElicitationService;
  stores: Pick<Stores, 'oneTime'> & { readonly leases: Pick<Stores['leases'], 'take' | 'release'> };
  vault: Vault;
  providers: ProviderRegistry;
  storeGrant: StoreGrant;
  auditLog: AuditLog;
  now: Clock;
  entropy: Entropy;
  /** Timeout of one request to a provider, in milliseconds. */
  requestLimitMs: number;
}) {
  const redirectUriFor = ({ mcpServerId, request }: ElicitationOf<'authorization'>) =>
    redirectUriOf(p.config.publicUrl, mcpServerId, request.provider);

  /** Returns the attempt in progress, only to the browser that began it. */
  async function secretOf(
    elicitation: Elicitation,
    browserBinding: string | undefined,
  ): Promise<DeviceSecret | undefined> {
    if (elicitation.status !== 'active' || browserBinding === undefined) return undefined;
    const record = await p.stores.oneTime.read(shardIn(elicitation.elicitationId), elicitation.attempt);
    if (record?.browserBinding !== browserBinding) return undefined;
    return secretSchema.parse(JSON.parse(await p.vault.open(record.sealed, deviceContext(record))));
  }

  return {
    /**
     * Begins an attempt after the user has agreed.
     * @throws AuthorizationError before anything is written; DomainError as `accept`
     */
    async begin(
      elicitation: ElicitationOf<'authorization'>,
      visitor: Visitor,
      browserBinding: string,
      plan: ScopePlan,
    ): Promise<void> {
      const { elicitationId, mcpServerId, request } = elicitation;
      const { expiresInMs, ...device } = await providerOf(p.providers, elicitation).startDevice({
        scopes: plan.requested,
        redirectUri: redirectUriFor(elicitation),
        resource: request.resource,
      });
      const secret = {
        ...device,
        expiresAt: p.now() + expiresInMs,
        scopes: plan.requested,
        heldScopes: plan.held,
        heldAccount: plan.connection?.account?.id,
      };
      // Random like an OAuth `state`, but it never leaves the gateway.
      const key = { digest: digestOf(newAuthorizationState(shardIn(elicitationId), p.entropy)), elicitationId };
      const sealed = await p.vault.seal(JSON.stringify(secret), deviceContext(key));
      await p.service.accept(
        elicitationId,
        visitor,
        {
          record: { ...key, mcpServerId, provider: request.provider, browserBinding, sealed },
          ttlMs: expiresInMs + RETENTION_MS,
        },
        [...plan.requested, ...plan.held],
      );
    },

    /** Returns undefined after the code has expired. Changes nothing. */
    async currentAttempt(
      elicitation: Elicitation,
      browserBinding: string | undefined,
    ): Promise<DeviceAttempt | undefined> {
      const secret = await secretOf(elicitation, browserBinding);
      return secret !== undefined && p.now() < secret.expiresAt ? secret : undefined;
    },

    /** Polls the provider once, after the user has confirmed that the code is entered. */
    async poll(
      elicitation: ElicitationOf<'authorization'>,
      browserBinding: string | undefined,
    ): Promise<DevicePollResult> {
      const secret = await secretOf(elicitation, browserBinding);
      if (secret === undefined || elicitation.status !== 'active') return 'settled';
      const { elicitationId, attempt, request } = elicitation;
      const letRetry = async (reason: RetryReason, missing?: readonly string[]): Promise<DevicePollResult> => {
        await ignoreSuperseded(p.service.retry(elicitationId, attempt, reason, missing));
        return 'settled';
      };
      if (p.now() >= secret.expiresAt) return letRetry('start_again');
      // RFC 8628 section 3.5: all tabs and replicas together respect the interval and the increment of `slow_down`.
      const pollName = digestOf(`device poll ${attempt}`);
      if (!(await p.stores.oneTime.claim(pollName, secret.intervalMs + slowDownMs))) return 'wait';
      // One poll at a time, also at a slow provider: only one of them may receive the grant.
      const holder = newOperationId(p.entropy);
      if (!(await p.stores.leases.take({ name: pollName, holder, leaseMs: providerLeaseMs(p.requestLimitMs) })))
        return 'wait';
      try {
        const response = await providerOf(p.providers, elicitation).pollDevice({
          deviceCode: secret.deviceCode,
          scopes: secret.scopes,
          heldScopes: secret.heldScopes,
          heldAccount: secret.heldAccount,
          clientId: secret.clientId,
          redirectUri: redirectUriFor(elicitation),
          resource: request.resource,
          expectedIssuer: secret.expectedIssuer,
          dpopKey: secret.dpopKey,
        });
        switch (response.result) {
          case 'pending':
            return 'not_yet';
          case 'slow_down':
            return 'wait';
          case 'denied':
            return letRetry('provider_denied');
          case 'expired':
            return letRetry('start_again');
          case 'granted': {
            const stored = await p.storeGrant(elicitation, attempt, response.grant);
            return stored.result === 'wrong_account' || stored.result === 'fewer_scopes'
              ? letRetry(stored.result, stored.missing)
              : 'settled';
          }
        }
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        const { mcpServerId } = elicitation;
        p.auditLog.record('callback.refused', {
          reason: error.code,
          mcpServerId,
          provider: request.provider,
          elicitationId,
        });
        // The device code stays valid while the provider is unavailable.
        return error.code === 'provider_unavailable' ? 'wait' : letRetry(retryReasonOf(error));
      } finally {
        await p.stores.leases.release({ name: pollName, holder });
      }
    },
  };
}

export type DeviceFlow = ReturnType<typeof createDeviceFlow>;
