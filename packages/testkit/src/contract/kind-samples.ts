import {
  type Approval,
  askDigest,
  type Charge,
  type CreateElicitation,
  type CredentialRequest,
  credentialIdOf,
  digestOf,
  type Elicitation,
  type ElicitationRequest,
  isCharging,
  type NewCredential,
  type Outcome,
  type PaymentRequest,
  type Subject,
} from '@postern/elicitation';
import { ask, type Move } from './samples.ts';

/** Requests of every kind that is answered once, and the transitions that answer them. */
export const requests = {
  payment: paymentRequest('stripe'),
  approval: paymentRequest('none'),
  confirmation: digested({
    kind: 'confirmation',
    terms: {
      title: 'Delete the repository',
      action: { en: 'Delete', de: 'Löschen' },
      facts: [
        { type: 'text', label: 'Repository', value: 'octocat/hello "world" 👩‍👩‍👧' },
        { type: 'number', label: 'Stars', value: 0.1 },
        { type: 'amount', label: 'Value', value: { currency: 'JPY', minorUnits: 1_050 } },
      ],
      binding: 'sha256-of-the-tool',
      arguments: '{"repo":"hello \\"world\\"","10":1.0,"2":[12345678901234567890,{}]}',
      danger: 'destructive',
    },
  }),
  once: credentialRequest('once'),
  lasting: credentialRequest('lasting'),
  form: digested({
    kind: 'form',
    title: 'Where to?',
    // A store must keep these distinctions: an empty list is not an object, and a number is not a text.
    requestedSchema: { type: 'object', properties: { city: { type: 'string', maxLength: 40 } }, required: [] },
    secretFields: [],
  }),
} as const satisfies Record<string, ElicitationRequest>;
export type Sample = keyof typeof requests;
/** The kinds with a result to redeem. */
export const redeemable = ['payment', 'approval', 'confirmation', 'once', 'form'] as const satisfies Sample[];

function digested<R extends Parameters<typeof askDigest>[0]>(request: R): R & { readonly digest: string } {
  return { ...request, digest: askDigest(request) };
}

function paymentRequest(processor: string): PaymentRequest {
  const terms = {
    payee: { name: 'Coffee & Co' },
    amount: { currency: 'EUR', minorUnits: 1_050 },
    items: [
      { label: 'Beans', quantity: 2, unitMinorUnits: 600 },
      { label: 'Discount', quantity: 1, unitMinorUnits: -150 },
    ],
    reference: 'order-7',
  };
  return digested({ kind: 'payment', terms, processor });
}

function credentialRequest(retention: 'once' | 'lasting'): CredentialRequest {
  const field = { secret: true, maxLength: 200 };
  return digested({
    kind: 'credential',
    name: 'acme-api',
    title: 'API key of Acme',
    retention,
    fields: [
      { ...field, name: 'key', label: 'Key', pattern: '^ak_[a-z]+$', help: 'Under settings', example: 'ak_abc' },
      { ...field, name: 'region', label: 'Region', secret: false },
    ],
  });
}

/** A request of a kind; equal for the same user. */
export function askFor(sample: Sample, subject: Subject, change: Partial<CreateElicitation> = {}): CreateElicitation {
  const { answeredBy: _, ...plain } = ask(subject);
  return {
    ...plain,
    elicitation: { ...plain.elicitation, request: requests[sample] },
    coalescingDigest: digestOf(JSON.stringify([sample, subject])),
    ...(sample === 'lasting' ? { answeredBy: credentialIdFor(subject) } : {}),
    ...change,
  };
}

export const approval: Approval = {
  method: 'passkey',
  identity: 'login',
  at: Date.UTC(2026, 0, 1),
  authTime: Date.UTC(2025, 11, 31),
  passkey: 'passkey-1',
  passkeyAddedAt: Date.UTC(2025, 10, 30),
};
export const chargeAt: Charge = { reference: 'cs_1', url: 'https://checkout.example.com/c/cs_1?a=b' };

/** The user approves a payment at a processor. From now on the payment is charging. */
export const approve: Move = { events: ['engage'], next: { status: 'active', attempt: 'attempt-1', approval } };
export const charge: Move = {
  events: ['charge'],
  next: { status: 'active', attempt: 'attempt-1', approval, charge: chargeAt },
};
export const notFinished: Move = {
  events: ['retry'],
  next: { status: 'pending', retryReason: 'payment_not_finished' },
};

export const credentialIdFor = (subject: Subject, name = 'acme-api') =>
  credentialIdOf({ owner: 'issue-tracker', subject, name });

export function credentialFor(
  { subject, elicitationId }: Pick<Elicitation, 'subject' | 'elicitationId'>,
  change: Partial<NewCredential> = {},
): NewCredential {
  return {
    credentialId: credentialIdFor(subject),
    owner: 'issue-tracker',
    subject,
    name: 'acme-api',
    title: 'API key of Acme',
    fields: ['key', 'region'],
    sealedValues: 'sealed-values',
    elicitationId,
    ...change,
  };
}

/** Completes with all effects of the kind, from any status. */
export function answer(elicitation: Elicitation, sealed = 'sealed-result'): Move {
  const { request } = elicitation;
  const completing: Pick<Move, 'events'> =
    elicitation.status === 'pending' ? { events: ['engage', 'complete'] } : { events: ['complete'] };
  const completed = (outcome: Outcome) => ({ ...completing, next: { status: 'completed' as const, outcome } });
  switch (request.kind) {
    case 'payment': {
      const { kind, digest, processor } = request;
      const taken = isCharging(elicitation)
        ? { approval: elicitation.approval, processorReference: 'pi_1' }
        : { approval };
      return completed({ kind, digest, processor, ...taken });
    }
    case 'confirmation':
      return completed({ kind: 'confirmation', digest: request.digest, approval });
    case 'credential': {
      const { kind, name } = request;
      if (request.retention === 'once') return { ...completed({ kind, name }), putResult: { sealed } };
      const putCredential = credentialFor(elicitation);
      return { ...completed({ kind, name, credentialId: putCredential.credentialId }), putCredential };
    }
    case 'form':
      return { ...completed({ kind: 'form' }), putResult: { sealed } };
    case 'authorization':
      throw new TypeError('An authorization is answered by a connection.');
  }
}
