import type { IssueElicitationInput } from '@postern/api';
import type { ElicitationAnswer } from './api.ts';
import type { RawAnswer, RawBrowser } from './raw-browser.ts';
import type { PaymentPolicy, World } from './world-parts.ts';

type Input<K extends IssueElicitationInput['kind']> = Extract<IssueElicitationInput, { kind: K }>;
type AskInput = { [K in IssueElicitationInput['kind']]: Omit<Input<K>, 'subject'> }[IssueElicitationInput['kind']];

export const bookTerms = {
  payee: { name: 'Book Shop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  items: [
    { label: 'The Side Gate', quantity: 2, unitMinorUnits: 1000 },
    { label: 'Postage', unitMinorUnits: 490 },
  ],
  reference: 'order-1001',
} satisfies Input<'payment'>['payment'];

export const deletion = {
  title: 'Delete the repository "postern/attic"',
  action: 'Delete repository',
  facts: [
    { type: 'text', label: 'Repository', value: 'postern/attic' },
    { type: 'number', label: 'Open issues', value: 3 },
  ],
  arguments: '{"repo":"attic","depth":1.0}',
  danger: 'destructive',
} satisfies Input<'confirmation'>['confirmation'];

export const apiKeyRequest = {
  name: 'acme-api',
  title: 'API key of Acme',
  fields: [{ name: 'api_key', label: 'API key', pattern: 'ak_[a-z0-9]{8,}', help: 'Acme, Settings, API keys' }],
} satisfies Input<'credential'>['credential'];

export const deliveryForm = {
  title: 'Delivery',
  requestedSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', title: 'Name', minLength: 2 },
      express: { type: 'boolean', title: 'Express delivery', default: false },
      parcels: { type: 'integer', title: 'Parcels', minimum: 1, maximum: 9 },
    },
    required: ['name', 'parcels'],
  },
} satisfies Input<'form'>['form'];

/** Unique payment terms: equal terms would return the same elicitation. */
export function paymentOf(change: Partial<Input<'payment'>['payment']> = {}): AskInput {
  return { kind: 'payment', payment: { ...bookTerms, reference: `order-${crypto.randomUUID()}`, ...change } };
}

/** @throws if it is not issued */
export async function issueFor(world: World, user: string, ask: AskInput): Promise<ElicitationAnswer> {
  const subject = { issuer: world.identityProvider.issuer, subject: user };
  const issued = await world.api.issue({ ...ask, subject } as IssueElicitationInput);
  if (issued.status !== 201)
    throw new Error(
      `not issued: ${issued.status} ${issued.body.code ?? ''} ${JSON.stringify(issued.body.errors ?? '')}`,
    );
  return issued.body;
}

/** Opens the page, signed in for this elicitation. */
export async function visitorFor(world: World, user: string, elicitationId: string): Promise<RawBrowser> {
  const raw = world.raw();
  await raw.signIn(elicitationId, user);
  return raw;
}

/** Form data of the accepting button, with the user's input. */
export async function acceptWith(
  raw: RawBrowser,
  elicitationId: string,
  typed: Readonly<Record<string, string>> = {},
): Promise<RawAnswer> {
  const fields = Object.fromEntries(Object.entries(typed).map(([name, value]) => [`field.${name}`, value]));
  return raw.post(`/e/${elicitationId}/accept`, { form: { ...(await raw.acceptForm(elicitationId)), ...fields } });
}

/** Configuration that lets an MCP server request payments. Default: without a processor. */
export const paymentPolicy = (change: Partial<PaymentPolicy> = {}): PaymentPolicy => ({
  processors: ['none'],
  maxAmount: { EUR: 100_000, JPY: 50_000, KWD: 200_000 },
  firstPasskeyUpTo: { EUR: 100_000, JPY: 50_000, KWD: 200_000 },
  payees: [bookTerms.payee.name],
  ...change,
});
