import { type GateContext, isElicitationPending, type PaymentTerms } from '@postern/mcp';
import { z } from 'zod';

/** Arguments of the tools of these tests. `order` keeps their requests apart. */
export const verbArgs = {
  /** Makes the request differ from those of all other tests. */
  order: z.string(),
  currency: z.string().optional(),
  ttlSeconds: z.int().optional(),
};
export interface VerbArgs {
  readonly order: string;
  readonly currency?: string | undefined;
  readonly ttlSeconds?: number | undefined;
}

/** Arguments of a handler after approval. Kept outside the result, because half of them are secrets. */
export interface Given {
  readonly order: string;
  readonly what: Readonly<Record<string, unknown>>;
}

/** The third-party services of the MCP servers in these tests. */
export interface Surroundings {
  /** Returns the account of an access token. */
  readonly accountUrl: string;
}

/** Terms with an item whose quantity is the default. */
export function verbTerms(order: string, currency = 'EUR', processor?: string) {
  return {
    payee: { name: 'Book Shop' },
    amount: { currency, minorUnits: 2490 },
    items: [
      { label: 'The Side Gate', quantity: 2, unitMinorUnits: 1000 },
      { label: 'Postage', unitMinorUnits: 490 },
    ],
    reference: order,
    ...(processor && { processor }),
  } satisfies PaymentTerms;
}

/** The optional terms of a confirmation, except the danger. */
export const verbFacts = [{ type: 'number', label: 'Open issues', value: 3 }] as const;
export const verbAction = { en: 'Delete order', de: 'Bestellung löschen' };

export const deliverySchema = z.object({
  name: z.string().min(2).meta({ title: 'Name' }),
  parcels: z.int().min(1).max(9),
  size: z.enum(['small', 'large']),
  express: z.boolean().default(false),
});
const deploymentSchema = z.object({ branch: z.string().min(1), token: z.string().min(8) });

const apiKeyFields = [
  { name: 'account', label: 'Account', secret: false },
  { name: 'api_key', label: 'API key', pattern: 'ak_[a-z0-9]{8,}' },
] as const;

type Answered = { readonly action: string; readonly reason?: string };
type Play = (
  gate: GateContext,
  args: VerbArgs,
  surroundings: Surroundings,
) => Promise<{ readonly answered: Answered; readonly what: Record<string, unknown> }>;

const isAccepted = <A extends Answered>(answered: A): answered is Extract<A, { action: 'accept' }> =>
  answered.action === 'accept';

/** All members of an accepted result except functions. */
const dataOf = (answered: Answered): Record<string, unknown> =>
  Object.fromEntries(Object.entries(answered).filter(([, value]) => typeof value !== 'function'));

const options = ({ ttlSeconds }: VerbArgs) => (ttlSeconds === undefined ? {} : { ttlSeconds });

async function pay(gate: GateContext, args: VerbArgs, processor: string) {
  const answered = await gate.try.pay(verbTerms(args.order, args.currency, processor), options(args));
  return { answered, what: dataOf(answered) };
}

const plays = {
  async authorize(gate, args, { accountUrl }) {
    const answered = await gate.try.authorize('forge', { scopes: ['repo'], ...options(args) });
    if (!isAccepted(answered)) return { answered, what: {} };
    const response = await answered.fetch(accountUrl);
    const { sub } = z.object({ sub: z.string() }).parse(await response.json());
    return { answered, what: { ...dataOf(answered), account: sub } };
  },
  pay_none: (gate, args) => pay(gate, args, 'none'),
  pay_stripe: (gate, args) => pay(gate, args, 'stripe-main'),
  async confirm(gate, args) {
    const answered = await gate.try.confirm(
      { title: `Delete ${args.order}`, action: verbAction, facts: [...verbFacts] },
      options(args),
    );
    return { answered, what: dataOf(answered) };
  },
  async credential(gate, args) {
    const answered = await gate.try.credential(
      { name: args.order, title: 'API key of Acme', fields: apiKeyFields },
      options(args),
    );
    return { answered, what: dataOf(answered) };
  },
  async credential_lasting(gate, args) {
    const answered = await gate.try.credential(
      { name: args.order, title: 'API key of Acme', fields: apiKeyFields, retention: 'lasting' },
      options(args),
    );
    if (!isAccepted(answered)) return { answered, what: {} };
    return { answered, what: { ...dataOf(answered), again: await answered.read() } };
  },
  async form(gate, args) {
    const answered = await gate.try.form(deliverySchema, { title: `Delivery of ${args.order}`, ...options(args) });
    return { answered, what: dataOf(answered) };
  },
  async form_secret(gate, args) {
    const answered = await gate.try.form(deploymentSchema, {
      title: `Deployment of ${args.order}`,
      secretFields: ['token'],
      ...options(args),
    });
    return { answered, what: dataOf(answered) };
  },
  /** Three elicitations, one after the other. */
  async steps(gate, args) {
    const yes = await gate.try.confirm({ title: `Order ${args.order}`, facts: [...verbFacts] }, options(args));
    if (!isAccepted(yes)) return { answered: yes, what: {} };
    const payment = await gate.try.pay(verbTerms(args.order, args.currency, 'stripe-main'), options(args));
    if (!isAccepted(payment)) return { answered: payment, what: {} };
    const delivery = await gate.try.form(deliverySchema, { title: `Delivery of ${args.order}`, ...options(args) });
    return { answered: delivery, what: { yes: dataOf(yes), payment: dataOf(payment), delivery: dataOf(delivery) } };
  },
} satisfies Record<string, Play>;

export type VerbTool = keyof typeof plays;
export const verbTools = Object.keys(plays) as VerbTool[];

/** Kinds that always have a page, and a result that is redeemed once. */
export const takenOnce = [
  'pay_none',
  'pay_stripe',
  'confirm',
  'credential',
  'form_secret',
] as const satisfies VerbTool[];

/** Tools with one elicitation. */
export const oneQuestion = [...takenOnce, 'authorize', 'credential_lasting', 'form'] as const satisfies VerbTool[];
export type OneQuestion = (typeof oneQuestion)[number];

/** A stored credential is returned to the next call as well. */
export const lasts = (tool: VerbTool): boolean => tool === 'authorize' || tool === 'credential_lasting';

/** Runs a tool, returns how it ended, and passes its result to `give`. */
export async function runVerbTool(
  p: { readonly tool: VerbTool; readonly surroundings: Surroundings; readonly give: (given: Given) => void },
  args: VerbArgs,
  gate: GateContext,
) {
  const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  try {
    const play: Play = plays[p.tool];
    const { answered, what } = await play(gate, args, p.surroundings);
    if (!isAccepted(answered)) return say(`${answered.action} ${answered.reason}`);
    p.give({ order: args.order, what });
    return say('accept');
  } catch (error) {
    if (isElicitationPending(error)) throw error;
    return say(`error ${error instanceof Error && 'code' in error ? error.code : error}`);
  }
}
