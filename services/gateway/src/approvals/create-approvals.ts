import type { Clock, ElicitationService, Entropy, Stores, Subject } from '@postern/elicitation';
import { createProcessor, createReceipts, type Passkeys } from '@postern/payment';
import type { Vault } from '@postern/vault';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-log.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { withOptionalPackages } from '../platform/optional-packages.ts';
import type { OutboundLog } from '../platform/outbound/outbound-log.ts';
import type { UpstreamOf } from '../platform/overload/upstream.ts';
import { processorThrough } from '../platform/overload/upstream.ts';
import { createApprovalFlow } from './approval-flow.ts';
import { createDailyLimits } from './daily-limits.ts';
import { createPasskeyFlow } from './passkey-flow.ts';
import { createPasskeyPolicy } from './passkey-policy.ts';
import { createPaymentFlow } from './payment-flow.ts';
import { receiptKeysOf } from './receipt-keys.ts';
import { createRefundFlow } from './refund-flow.ts';

/** Creates the services of this folder: payments, confirmations, their passkey step and receipts. */
export async function createApprovals(p: {
  config: Pick<GatewayConfig, 'publicUrl' | 'processors' | 'receipts' | 'vault'>;
  mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  stores: Stores;
  service: ElicitationService;
  vault: Vault;
  auditLog: AuditLog;
  /** See `announcementsOf`. */
  announcedAs: (subject: Subject) => string | undefined;
  passkeys: Passkeys;
  signInPolicy: SignInPolicy;
  upstreamOf: UpstreamOf;
  outboundLog: OutboundLog;
  /** A key service holds the vault keys, so receipt keys cannot be derived from them. */
  now: Clock;
  entropy: Entropy;
  /** Timeout of one request to a processor, in milliseconds. */
  requestLimitMs: number;
}) {
  const { config, now } = p;
  const processors = new Map(
    await Promise.all(
      config.processors.map(async processor => {
        const { name } = processor;
        const upstream = p.upstreamOf('processor', name);
        const created = await withOptionalPackages('Stripe', () =>
          createProcessor(processor, {
            fetch: upstream.fetch,
            gateway: new URL(config.publicUrl).host,
            now,
            timeoutMs: p.requestLimitMs,
          }),
        );
        const watched = p.outboundLog.watched({ target: 'processor', name }, created);
        return [name, processorThrough(upstream, watched)] as const;
      }),
    ),
  );
  const passkeyPolicy = createPasskeyPolicy(p);
  const dailyLimits = createDailyLimits(p);
  const refundFlow = createRefundFlow({ ...p, processors });
  return {
    processors,
    receipts: createReceipts({ issuer: config.publicUrl, keys: receiptKeysOf(config) }),
    passkeyPolicy,
    dailyLimits,
    approvalFlow: createApprovalFlow({ ...p, passkeyPolicy, dailyLimits }),
    passkeyFlow: createPasskeyFlow({ ...p, passkeyPolicy, dailyLimits }),
    paymentFlow: createPaymentFlow({ ...p, processors, refundFlow }),
    refundFlow,
  };
}

export type Approvals = Awaited<ReturnType<typeof createApprovals>>;
