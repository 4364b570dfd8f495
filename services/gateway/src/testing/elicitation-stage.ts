import { type IssueElicitation, type IssueElicitationInput, issueElicitationSchema } from '@postern/api';
import {
  type BrowserSession,
  type Elicitation,
  type ElicitationOf,
  isOfKind,
  type Kind,
  newBrowserSessionId,
  shardOf,
  systemEntropy,
} from '@postern/elicitation';
import { elicitationRequestOf } from '../elicitations/issue-flow.ts';
import { createSignInPolicy } from '../identity/sign-in-policy.ts';
import { Approvals, DailyLimits, PasskeyPolicy } from '../payments/approvals.ts';
import { PaymentFlow } from '../payments/payment-flow.ts';
import { Refunds } from '../payments/refunds.ts';
import type { GatewayConfigInput } from '../platform/config/config-schema.ts';
import { createFlowStage, signedInAs } from './flow-stage.ts';
import { createScriptedProcessor } from './scripted-processor.ts';

type InputOf<K extends Kind> = Extract<IssueElicitationInput, { kind: K }>;
export type PaymentInput = InputOf<'payment'>['payment'];
export type ConfirmationInput = InputOf<'confirmation'>['confirmation'];
export type CredentialInput = InputOf<'credential'>['credential'];
export type FormInput = InputOf<'form'>['form'];
type AskInput =
  | { readonly payment: PaymentInput }
  | { readonly confirmation: ConfirmationInput }
  | { readonly credential: CredentialInput }
  | { readonly form: FormInput };
type McpServerInput = GatewayConfigInput['mcpServers'][number];

export const sampleTerms = {
  payee: { name: 'Book Shop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  reference: 'order-1001',
} satisfies PaymentInput;

export const sampleConfirmation = {
  title: 'Delete the repository',
  danger: 'destructive',
} satisfies ConfirmationInput;

export const sampleCredential = {
  name: 'acme-api',
  title: 'API key of Acme',
  fields: [{ name: 'api_key', label: 'API key' }],
} satisfies CredentialInput;

/** Parses the body of an API call as the gateway does. @throws ZodError */
export function parsedInput(ask: AskInput): Exclude<IssueElicitation, { kind: 'authorization' }> {
  const [kind] = Object.keys(ask);
  const parsed = issueElicitationSchema.parse({ kind, subject: { issuer: 'i', subject: 's' }, ...ask });
  if (parsed.kind === 'authorization') throw new TypeError('of another kind');
  return parsed;
}

/** A flow stage for payments with a scripted processor, confirmations, credentials and forms. */
export function createElicitationStage(
  change: { readonly payment?: Partial<McpServerInput['payment']>; readonly mcpServer?: Partial<McpServerInput> } = {},
) {
  const stage = createFlowStage(
    {},
    {
      mcpServer: {
        payment: {
          processors: ['stripe-main', 'none'],
          maxAmount: { EUR: 100_000, JPY: 50_000 },
          firstPasskeyUpTo: { EUR: 50_000 },
          payees: [sampleTerms.payee.name],
          ...change.payment,
        },
        ...change.mcpServer,
      },
      config: {
        processors: [
          { type: 'stripe', name: 'stripe-main', secretKey: 'sk_live_1', webhookSecrets: ['whsec_dGVzdA=='] },
        ],
      },
    },
  );
  const scripted = createScriptedProcessor();
  const processors = new Map([[scripted.processor.name, scripted.processor]]);
  const signInPolicy = createSignInPolicy(stage);
  const passkeyPolicy = new PasskeyPolicy(stage);
  const dailyLimits = new DailyLimits(stage);
  const refunds = new Refunds({ ...stage, processors });

  async function issued(ask: AskInput): Promise<Elicitation> {
    const request = elicitationRequestOf(parsedInput(ask), stage.caller());
    const answer = await stage.service.issue(stage.caller(), { subject: stage.subject, request, ttlMs: 600_000 });
    if (!('elicitation' in answer)) throw new Error(`expected an elicitation, got ${answer.disposition}`);
    return answer.elicitation;
  }

  return {
    ...stage,
    scripted,
    processors,
    signInPolicy,
    passkeyPolicy,
    visitor: signedInAs(stage.subject),
    dailyLimits,
    approvals: new Approvals({ ...stage, signInPolicy, passkeyPolicy, dailyLimits }),
    paymentFlow: new PaymentFlow({ ...stage, processors, refunds }),
    refunds,

    pay: async (terms: Partial<PaymentInput> = {}) =>
      ofKind(await issued({ payment: { ...sampleTerms, ...terms } }), 'payment'),
    confirm: async (terms: Partial<ConfirmationInput> = {}) =>
      ofKind(await issued({ confirmation: { ...sampleConfirmation, ...terms } }), 'confirmation'),
    credential: async (terms: Partial<CredentialInput> = {}) =>
      ofKind(await issued({ credential: { ...sampleCredential, ...terms } }), 'credential'),
    form: async (form: FormInput) => ofKind(await issued({ form }), 'form'),

    /** Creates a browser session of the user, signed in now unless `authTime` says otherwise. */
    browserSession: (
      authTime: number | 'unknown' = stage.clock.now(),
      provedFor?: Pick<Elicitation, 'elicitationId'>,
    ): Promise<BrowserSession> =>
      stage.stores.browserSessions.create(
        {
          id: newBrowserSessionId(shardOf(stage.subject), systemEntropy),
          subject: stage.subject,
          origin: { identityProvider: 'example-id' },
          displayName: 'Somebody',
          ...(authTime === 'unknown' ? {} : { authTime }),
          provedFor: provedFor?.elicitationId,
        },
        { idleMs: 3_600_000, absoluteMs: 3_600_000 },
      ),

    async again<K extends Kind>({ elicitationId }: Pick<Elicitation, 'elicitationId'>, kind: K) {
      const elicitation = await stage.service.find(elicitationId);
      if (elicitation === undefined) throw new Error('it is gone');
      return ofKind(elicitation, kind);
    },
  };
}

export type ElicitationStage = ReturnType<typeof createElicitationStage>;

/** @throws TypeError for another kind */
function ofKind<K extends Kind>(elicitation: Elicitation, kind: K): ElicitationOf<K> {
  if (!isOfKind(elicitation, kind)) throw new TypeError('of another kind');
  return elicitation;
}
