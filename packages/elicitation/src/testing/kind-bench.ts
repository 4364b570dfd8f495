import type { NewCredential } from '../credential.ts';
import { type Approval, askDigest, type Charge, type Elicitation, type UndigestedRequest } from '../elicitation.ts';
import { credentialIdOf } from '../ids.ts';
import { alice, mcpServer, signedIn } from './samples.ts';
import type { createServiceBench } from './service-bench.ts';

const digested = <R extends UndigestedRequest>(request: R) => ({ ...request, digest: askDigest(request) });

const terms = {
  payee: { name: 'Coffee & Co' },
  amount: { currency: 'EUR', minorUnits: 1_050 },
  reference: 'order-7',
};
const credential = {
  kind: 'credential',
  name: 'acme-api',
  title: 'API key of Acme',
  fields: [
    { name: 'key', label: 'Key', secret: true, maxLength: 200 },
    { name: 'region', label: 'Region', secret: false, maxLength: 200 },
  ],
} as const;

/** One request of every kind that is answered once. `approval` is a payment without a processor. */
export const requests = {
  payment: digested({ kind: 'payment', terms, processor: 'stripe' }),
  approval: digested({ kind: 'payment', terms, processor: 'none' }),
  confirmation: digested({ kind: 'confirmation', terms: { title: 'Delete it', facts: [], danger: 'destructive' } }),
  once: digested({ ...credential, retention: 'once' }),
  lasting: digested({ ...credential, retention: 'lasting' }),
  form: digested({ kind: 'form', requestedSchema: { type: 'object', properties: {} }, secretFields: [] }),
} as const;
export type Sample = keyof typeof requests;
export const samples = Object.keys(requests) as Sample[];
/** The kinds with a result to redeem. */
export const redeemable = ['payment', 'approval', 'confirmation', 'once', 'form'] as const satisfies Sample[];

export const person = signedIn(alice);
export const shown = (sample: Sample) => requests[sample].digest;
export const approval: Approval = {
  method: 'passkey',
  identity: 'login',
  passkey: 'passkey-1',
  at: Date.UTC(2026, 0, 1),
  authTime: Date.UTC(2025, 11, 31),
};
export const chargeAt: Charge = { reference: 'cs_1', url: 'https://checkout.example.com/cs_1' };

/** A lasting credential as typed, sealed. */
export function credentialFor(
  { elicitationId, mcpServerId, subject }: Elicitation,
  change: Partial<NewCredential> = {},
): NewCredential {
  const { name, title, fields } = requests.lasting;
  return {
    credentialId: credentialIdOf({ owner: mcpServerId, subject, name }),
    owner: mcpServerId,
    subject,
    name,
    title,
    elicitationId,
    fields: fields.map(field => field.name),
    sealedValues: 'sealed values',
    ...change,
  };
}

type Bench = Pick<ReturnType<typeof createServiceBench>, 'service' | 'pending'>;

/** Issued for Alice by the issue tracker. */
export const asked = (bench: Bench, sample: Sample) => bench.pending(mcpServer(), { request: requests[sample] });

/** A payment at a processor. */
export async function charging(bench: Bench): Promise<Extract<Elicitation, { status: 'active' }>> {
  const { elicitationId } = await asked(bench, 'payment');
  const approved = await bench.service.approve(elicitationId, person, { shown: shown('payment'), approval });
  if (approved.status !== 'active') throw new Error(`Expected a charging payment, got ${approved.status}.`);
  return approved;
}

/** Answers the sample like a user, up to the end. */
export async function answered(bench: Bench, sample: Sample): Promise<Elicitation> {
  if (sample === 'payment') {
    const { elicitationId, attempt } = await charging(bench);
    return bench.service.settle(elicitationId, attempt, { result: 'paid', processorReference: 'pi_1' });
  }
  const elicitation = await asked(bench, sample);
  return answer(bench, elicitation, sample);
}

/** Approves or submits in the one commit that ends it. */
export function answer(
  { service }: Bench,
  elicitation: Elicitation,
  sample: Exclude<Sample, 'payment'>,
): Promise<Elicitation> {
  const { elicitationId } = elicitation;
  const digest = shown(sample);
  if (sample === 'approval' || sample === 'confirmation')
    return service.approve(elicitationId, person, { shown: digest, approval });
  const result = sample === 'lasting' ? { credential: credentialFor(elicitation) } : { sealed: 'sealed result' };
  return service.submit(elicitationId, person, { shown: digest, ...result });
}
