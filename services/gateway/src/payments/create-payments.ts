import type { Clock, ElicitationService, Stores } from '@postern/elicitation';
import { createProcessor, createReceipts, type PaymentProcessor, type Receipts } from '@postern/payment';
import type { PasskeyCeremonies } from '../identity/passkeys/passkey-ceremony.ts';
import type { SignInPolicy } from '../identity/sign-in-policy.ts';
import type { RegisteredMcpServer } from '../mcp-servers/registered-mcp-server.ts';
import type { AuditLog } from '../platform/audit/audit-events.ts';
import type { GatewayConfig } from '../platform/config/config-schema.ts';
import { withOptionalPackages } from '../platform/optional-packages.ts';
import type { OutboundLog } from '../platform/outbound/outbound-log.ts';
import { processorThrough, type UpstreamOf } from '../platform/overload/upstream.ts';
import { Approvals, DailyLimits, PasskeyPolicy } from './approvals.ts';
import { PasskeyFlow } from './passkey-flow.ts';
import { PaymentFlow } from './payment-flow.ts';
import { receiptKeysOf } from './receipt-keys.ts';
import { Refunds } from './refunds.ts';

/** The services of this room: approvals of payments and confirmations, charges, refunds and receipts. */
export interface Payments {
  readonly processors: ReadonlyMap<string, PaymentProcessor>;
  readonly receipts: Receipts;
  readonly passkeyPolicy: PasskeyPolicy;
  readonly approvals: Approvals;
  readonly passkeyFlow: PasskeyFlow;
  readonly paymentFlow: PaymentFlow;
  readonly refunds: Refunds;
}

interface PaymentsDeps {
  readonly config: Pick<GatewayConfig, 'publicUrl' | 'processors' | 'receipts' | 'vault'>;
  readonly mcpServers: ReadonlyMap<string, RegisteredMcpServer>;
  readonly stores: Stores;
  readonly service: ElicitationService;
  readonly auditLog: AuditLog;
  readonly ceremonies: PasskeyCeremonies;
  readonly signInPolicy: SignInPolicy;
  readonly upstreamOf: UpstreamOf;
  readonly outboundLog: OutboundLog;
  readonly now: Clock;
  /** Timeout of one request to a processor, in milliseconds. */
  readonly requestLimitMs: number;
}

/** @throws StartError for invalid receipt keys, ConfigError for a processor whose package is missing */
export async function createPayments(deps: PaymentsDeps): Promise<Payments> {
  const { config } = deps;
  const processors = await processorsOf(deps);
  const passkeyPolicy = new PasskeyPolicy(deps);
  const dailyLimits = new DailyLimits(deps);
  const refunds = new Refunds({ ...deps, processors });
  return {
    processors,
    receipts: createReceipts({ issuer: config.publicUrl, keys: receiptKeysOf(config) }),
    passkeyPolicy,
    approvals: new Approvals({ ...deps, passkeyPolicy, dailyLimits }),
    passkeyFlow: new PasskeyFlow({ ...deps, passkeyPolicy, dailyLimits }),
    paymentFlow: new PaymentFlow({ ...deps, processors, refunds }),
    refunds,
  };
}

/** The configured processors, behind their bulkheads. */
async function processorsOf({ config, upstreamOf, outboundLog, requestLimitMs, now }: PaymentsDeps) {
  const processors = config.processors.map(async processor => {
    const { name } = processor;
    const upstream = upstreamOf('processor', name);
    const created = await withOptionalPackages('Stripe', () =>
      createProcessor(processor, {
        fetch: upstream.fetch,
        gateway: new URL(config.publicUrl).host,
        now,
        timeoutMs: requestLimitMs,
      }),
    );
    const as = outboundLog.operationsOf({ target: 'processor', name });
    return [name, processorThrough(upstream, as, created)] as const;
  });
  return new Map(await Promise.all(processors));
}
