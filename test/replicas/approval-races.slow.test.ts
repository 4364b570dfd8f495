import type { IssueElicitationInput } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyRequest, deletion, deliveryForm, paymentOf } from '../support/asks.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { askPerson, sessionOf } from '../support/payment-person.ts';
import { acceptFormIn, createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { seeded } from '../support/seeded-random.ts';
import { type Api, createApi, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

/**
 * Long run: `POSTERN_APPROVAL_ROUNDS=1000 POSTERN_APPROVAL_SEED=7 vitest run test/replicas/approval-races.slow.test.ts`.
 */
const ROUNDS = Number(process.env['POSTERN_APPROVAL_ROUNDS'] ?? 10);
const SEED = Number(process.env['POSTERN_APPROVAL_SEED'] ?? 20_261_121);
const APPROVALS = 50;
const REPLICAS = 3;
const PEOPLE = 8;
const ROUND_MS = 100_000;

interface Person {
  readonly user: string;
  /** The same browser, at every replica. */
  readonly at: readonly RawBrowser[];
}
interface Case {
  readonly kind: string;
  readonly ask: () => Omit<IssueElicitationInput, 'subject'>;
  /** Its expected audit events, sorted. */
  readonly moves: readonly string[];
  /** The values typed for the nth approval, different each time. */
  readonly typed?: (n: number) => Readonly<Record<string, string>>;
  /** Whether the redeemed result contains the values of the nth approval. */
  readonly isTyped?: (result: object, n: number) => boolean;
}

const keyTyped = (n: number) => `ak_key${String(n).padStart(6, '0')}`;
const approved = ['approved', 'issued', 'redeemed'];
const submitted = ['completed', 'issued', 'redeemed'];
const cases: readonly Case[] = [
  { kind: 'confirmation', ask: () => ({ kind: 'confirmation', confirmation: deletion }), moves: approved },
  { kind: 'payment without a processor', ask: () => paymentOf({ processor: 'none' }), moves: approved },
  {
    kind: 'payment by Stripe',
    ask: () => paymentOf(),
    moves: ['approved', 'charged', 'completed', 'issued', 'redeemed'],
  },
  {
    kind: 'credential',
    ask: () => ({ kind: 'credential', credential: apiKeyRequest }),
    moves: submitted,
    typed: n => ({ 'field.api_key': keyTyped(n) }),
    isTyped: (result, n) => JSON.stringify(result).includes(`"${keyTyped(n)}"`),
  },
  {
    kind: 'form',
    ask: () => ({ kind: 'form', form: deliveryForm }),
    moves: submitted,
    typed: n => ({ 'field.name': `Name ${n}`, 'field.parcels': '2' }),
    isTyped: (result, n) => JSON.stringify(result).includes(`"Name ${n}"`),
  },
];

let world: PayingWorld;
const replicas: GatewayProcess[] = [];
const apis: Api[] = [];
const people: Person[] = [];
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  const limits = { requestsPerMinute: 10_000_000, elicitationsPerSubject: 1_000_000 };
  world = stack.use(await startWorld({ payment: {}, mcpServer: { limits } }));
  const config = { ...world.config, mcpServers: [{ ...world.config.mcpServers[0], limits }] } as typeof world.config;
  replicas.push(...(await Promise.all(Array.from({ length: REPLICAS }, () => startGatewayProcess(config)))));
  for (const replica of replicas) {
    stack.use(replica);
    apis.push(createApi(replica.address, keyOf('tracker')));
  }
  for (let n = 0; n < PEOPLE; n += 1) people.push(await signedIn());
}, 60_000);
afterAll(() => stack.disposeAsync());

async function signedIn(): Promise<Person> {
  const { user, raw } = await askPerson(world, paymentOf({ processor: 'none' }));
  const at = replicas.map(({ address }) => {
    const browser = createRawBrowser({ address, publicUrl: world.publicUrl });
    for (const [name, value] of raw.cookies) browser.cookies.set(name, value);
    return browser;
  });
  return { user, at };
}

const pick = <T>(from: readonly T[], n: number): T => {
  const picked = from[n % from.length];
  if (picked === undefined) throw new TypeError('nothing to pick from');
  return picked;
};
const all = <T>(count: number, act: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => act(n)));

/** Names of audit events about elicitations, of all processes, sorted. */
const movesIn = (lines: readonly string[]): string[] =>
  lines
    .map(line => (JSON.parse(line) as { event: string }).event)
    .filter(event => event.startsWith('elicitation.'))
    .map(event => event.slice('elicitation.'.length))
    .sort();
const audited = (): string[] => replicas.flatMap(replica => replica.audited);

async function pay(elicitationId: string, person: Person): Promise<void> {
  const { id } = sessionOf(world.stripe, elicitationId);
  expect(world.stripe.pay(id)).toBe('paid');
  const [event] = world.stripe.eventsOf(id);
  const back = await all(REPLICAS * 2, async n =>
    n % 2 === 0 || event === undefined
      ? (await pick(person.at, n).get(`/e/${elicitationId}/charge`)).status
      : world.stripe.deliver(`${pick(replicas, n).address}/webhooks/stripe-main`, event),
  );
  for (const status of back) expect([204, 303]).toContain(status);
  expect(world.stripe.chargesOf(elicitationId)).toHaveLength(1);
}

async function playRound(round: number, below: (limit: number) => number): Promise<void> {
  const { kind, ask, moves, typed, isTyped } = pick(cases, round);
  const where = `seed ${SEED}, round ${round}: ${kind}`;
  const person = pick(people, round);
  const subject = { issuer: world.identityProvider.issuer, subject: person.user };
  const issued = await pick(apis, below(REPLICAS)).issue({ ...ask(), subject } as IssueElicitationInput);
  expect(issued.status, where).toBe(201);
  const { elicitationId } = issued.body;
  const page = `/e/${elicitationId}`;
  const form = acceptFormIn(await pick(person.at, below(REPLICAS)).get(page));

  const order = Array.from({ length: APPROVALS }, () => below(REPLICAS));
  const answers = await all(APPROVALS, n =>
    pick(person.at, order[n] ?? 0).post(`${page}/accept`, { form: { ...form, ...typed?.(n) } }),
  );
  for (const { status, location } of answers)
    expect({ status, location }, where).toEqual({ status: 303, location: page });
  if (kind === 'payment by Stripe') await pay(elicitationId, person);

  const read = await all(REPLICAS, async n => (await pick(apis, n).read(elicitationId)).body);
  expect(read[0]?.status, where).toBe('completed');
  for (const body of read) expect(body, where).toEqual(read[0]);
  // A later approval gets the same response.
  const late = await pick(person.at, below(REPLICAS)).post(`${page}/accept`, {
    form: { ...form, ...typed?.(APPROVALS) },
  });
  expect(late.status, where).toBe(303);

  // Redeem under two names at all replicas: one name always gets the same result, the other never gets it.
  const names = [`a-${round}`, `b-${round}`];
  const redeemed = await all(REPLICAS * 4, n =>
    pick(apis, below(REPLICAS)).redeem(elicitationId, { 'idempotency-key': pick(names, n) }),
  );
  const results = new Set(redeemed.filter(({ status }) => status === 200).map(({ body }) => JSON.stringify(body)));
  expect(results.size, where).toBe(1);
  const statuses = names.map(
    (_, name) => new Set(redeemed.filter((_, n) => n % 2 === name).map(({ status }) => status)),
  );
  expect(statuses.map(of => [...of]).sort(), where).toEqual([[200], [409]]);
  for (const { status, body } of redeemed) if (status === 409) expect(body.code, where).toBe('already_redeemed');
  if (isTyped !== undefined) {
    const result = JSON.parse([...results][0] ?? '') as object;
    const nth = Array.from({ length: APPROVALS + 1 }, (_, n) => n).filter(n => isTyped(result, n));
    expect(nth, where).toHaveLength(1);
    expect(nth[0], where).toBeLessThan(APPROVALS);
  }

  // Audit events of a process arrive asynchronously, through a pipe.
  const about = () => movesIn(audited().filter(line => line.includes(elicitationId)));
  await expect.poll(() => about().length, { timeout: ROUND_MS }).toBeGreaterThanOrEqual(moves.length);
  expect(about(), where).toEqual(moves);
}

describe(`L6, S37: ${APPROVALS} concurrent approvals of one elicitation, ${REPLICAS} processes`, () => {
  it('exactly one takes effect in every round, and all get the same result', {
    timeout: ROUNDS * ROUND_MS,
  }, async () => {
    const random = seeded(SEED);
    const rounds = Array.from({ length: ROUNDS }, (_, round) => round);
    for (const round of rounds) await playRound(round, limit => random.below(limit));
    const payments = Math.floor((ROUNDS + 2) / cases.length);
    expect(world.stripe.charges).toHaveLength(payments);
    expect(world.stripe.checkoutSessions).toHaveLength(payments);
    // No further audit events have arrived since.
    expect(movesIn(audited())).toEqual(rounds.flatMap(round => pick(cases, round).moves).sort());
  });
});
