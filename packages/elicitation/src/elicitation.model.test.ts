import { createHash } from 'node:crypto';
import { createFakeClock } from '@postern/testkit';
import { createMemoryStores } from '@postern/testkit/memory';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Elicitation } from './elicitation.ts';
import { digestOf, type ElicitationId, SHARDS } from './ids.ts';
import type { ElicitationStore } from './ports.ts';
import { CANARY, Invariants, type Observed } from './testing/invariants.ts';
import {
  type Call,
  type McpServerId,
  type ModelVisitor,
  mcpServerIds,
  type Person,
  people,
  ReferenceModel,
  trespass,
} from './testing/reference-model.ts';
import { connectionFor, ISSUER, MINUTE, mcpServer, oneTime } from './testing/samples.ts';
import { createServiceBench } from './testing/service-bench.ts';
import type { Visitor } from './visitor.ts';

/**
 * S11 and the invariants I1 to I6 of the threat model, driven by random steps of two MCP servers, two people and
 * somebody who is neither. A step is one verb, whose answer the reference model predicts, or several verbs at once in an
 * order that the scheduler chooses at every access to the store; then the answers depend on the order and the invariants
 * do not. On failure fast-check prints the seed, the path and the shortest steps that still fail.
 */
const TTL_MS = 10 * MINUTE;

const server = (mcpServerId: McpServerId) =>
  mcpServer({ mcpServerId, identityMode: mcpServerId === 'calendar' ? 'external' : 'login' });

const visitorOf = ({ person, vouchedBy }: ModelVisitor): Visitor =>
  person === 'whoever'
    ? { kind: 'loopback' }
    : {
        kind: 'signed_in',
        subject: { issuer: ISSUER, subject: person },
        ...(vouchedBy === undefined ? {} : { vouchedBy }),
      };

/** A verb before it is known which elicitations there are: `nth` counts from the newest. */
type Step =
  | { verb: 'issue'; mcpServerId: McpServerId; person: Person; scopes: readonly string[] }
  | { verb: 'read' | 'cancel'; nth: number; mcpServerId: McpServerId | 'its own' }
  | { verb: 'open' | 'accept' | 'decline'; nth: number; visitor: ModelVisitor | 'the person' }
  | { verb: 'retry' | 'hold' | 'fail'; nth: number; attempt: 'current' | 'earlier' | 'foreign' }
  | { verb: 'complete'; nth: number; attempt: 'current' | 'earlier' | 'foreign'; connectionOf: number }
  | { verb: 'expire'; nth: number }
  | { verb: 'advance'; ms: number };

class World {
  readonly clock = createFakeClock();
  readonly model = new ReferenceModel(this.clock.now());
  readonly invariants = new Invariants();
  readonly #stores = createMemoryStores({ now: this.clock.now, retentionMs: 365 * 24 * 60 * MINUTE });
  readonly #scheduler: fc.Scheduler;
  readonly #bench;
  readonly #answers: unknown[] = [];
  /** Every one-time value handed out, oldest first. */
  readonly #begun: { readonly id: ElicitationId; readonly attempt: string }[] = [];
  #drawn = 0;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
    // The scheduler decides whose access to the store comes next; each access is atomic, as the port promises.
    const turn = <A, R>(label: string, access: (argument: A) => Promise<R>) => {
      return (argument: A) => scheduler.schedule(Promise.resolve(), label).then(() => access(argument));
    };
    const { elicitations } = this.#stores;
    const scheduled: ElicitationStore = {
      create: turn('create', request => elicitations.create(request)),
      read: turn('read', id => elicitations.read(id)),
      transition: turn('transition', request => elicitations.transition(request)),
      due: (shard, limit) => elicitations.due(shard, limit),
    };
    const entropy = (length: number) => {
      this.#drawn += 1;
      return createHash('sha256').update(`${this.#drawn}`).digest().subarray(0, length);
    };
    this.#bench = createServiceBench({ ...this.#stores, elicitations: scheduled }, this.clock, entropy);
  }

  /** Undefined while there is nothing the step could be about. */
  callOf(step: Step): Call | undefined {
    if (step.verb === 'issue' || step.verb === 'advance') return step;
    const ids = [...this.model.known.keys()].reverse();
    const id = ids[step.nth % ids.length];
    const known = id && this.model.known.get(id);
    if (id === undefined || known === undefined) return undefined;
    const vouched = known.mcpServerId === 'calendar' ? { vouchedBy: known.mcpServerId } : {};
    const thePerson = { person: known.person, ...vouched };
    const begins = `${CANARY}-${this.#begun.length}`;
    switch (step.verb) {
      case 'expire':
        return { verb: step.verb, id };
      case 'read':
      case 'cancel':
        return {
          verb: step.verb,
          id,
          mcpServerId: step.mcpServerId === 'its own' ? known.mcpServerId : step.mcpServerId,
        };
      case 'open':
      case 'decline':
      case 'accept': {
        const visitor = step.visitor === 'the person' ? thePerson : step.visitor;
        if (step.verb !== 'accept') return { verb: step.verb, id, visitor };
        this.#begun.push({ id, attempt: begins });
        return { verb: step.verb, id, visitor, begins };
      }
      default: {
        const own = this.#begun.filter(each => each.id === id && each.attempt !== known.attempt);
        const foreign = this.#begun.filter(each => each.id !== id);
        const values = { current: known.attempt, earlier: own.at(-1)?.attempt, foreign: foreign.at(-1)?.attempt };
        const attempt = values[step.attempt] ?? `${CANARY}-never-begun`;
        if (step.verb === 'complete')
          return { verb: step.verb, id, attempt, connectionOf: ids[(step.nth + step.connectionOf) % ids.length] ?? id };
        if (step.verb !== 'hold') return { verb: step.verb, id, attempt };
        this.#begun.push({ id, attempt: begins });
        return { verb: step.verb, id, attempt, begins };
      }
    }
  }

  /** Makes the calls at the same time and answers what each came to. */
  async make(calls: readonly Call[]): Promise<readonly string[]> {
    // In the same order in every replay: everybody is at the start before the scheduler gives the first turn.
    const outcomes = await this.#scheduler.waitFor(Promise.all(calls.map(call => this.#make(call))));
    for (const outcome of outcomes) seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    return outcomes;
  }

  async #make(call: Call): Promise<string> {
    try {
      const { outcome, answer } = await this.#call(call);
      this.#answers.push(answer);
      // I6: an answer is only ever given to whom it belongs, however the calls interleaved.
      const known = 'id' in call ? this.model.known.get(call.id) : undefined;
      if (known !== undefined) expect(trespass(call, known)).toBeUndefined();
      return outcome;
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'AssertionError') throw error;
      this.#answers.push({ ...error, name: error.name, message: error.message, cause: error.cause });
      return 'code' in error ? String(error.code) : error.name;
    }
  }

  async #call(call: Call): Promise<{ outcome: string; answer?: unknown }> {
    const { service } = this.#bench;
    const of = (answer: Elicitation) => ({ outcome: answer.status, answer });
    const begun = (id: ElicitationId, name: string) => {
      const { record, ttlMs } = oneTime(id, name);
      return { record: { ...record, sealed: `sealed ${CANARY}` }, ttlMs };
    };
    switch (call.verb) {
      case 'advance':
        await this.#scheduler.schedule(Promise.resolve(), 'advance');
        this.clock.advance(call.ms);
        return { outcome: 'advanced' };
      case 'issue': {
        const { mcpServerId, person, scopes } = call;
        const subject = { issuer: ISSUER, subject: person };
        const request = { kind: 'authorization', provider: 'github', scopes } as const;
        const issued = await service.issue(server(mcpServerId), { subject, request, ttlMs: TTL_MS });
        if (issued.disposition === 'served') expect(issued.connection).toMatchObject({ owner: mcpServerId, subject });
        else expect(issued.elicitation).toMatchObject({ mcpServerId, subject });
        if (issued.disposition === 'created') {
          const { elicitationId, expiresAt, request } = issued.elicitation;
          const known = { mcpServerId, person, scopes: request.scopes, expiresAt, attempt: undefined };
          this.model.known.set(elicitationId, { ...known, status: 'pending' });
        }
        return { outcome: issued.disposition, answer: issued };
      }
      case 'read':
        return of(await service.read(server(call.mcpServerId), call.id));
      case 'cancel':
        return of(await service.cancel(server(call.mcpServerId), call.id));
      case 'open':
        return of(await service.open(call.id, visitorOf(call.visitor)));
      case 'decline':
        return of(await service.decline(call.id, visitorOf(call.visitor)));
      case 'accept':
        return of(await service.accept(call.id, visitorOf(call.visitor), begun(call.id, call.begins)));
      case 'hold':
        return of(await service.hold(call.id, digestOf(call.attempt), begun(call.id, call.begins)));
      case 'retry':
        return of(await service.retry(call.id, digestOf(call.attempt), 'provider_denied'));
      case 'fail':
        return of(await service.fail(call.id, digestOf(call.attempt), 'provider_refused'));
      case 'complete': {
        const asked = await this.#stores.elicitations.read(call.connectionOf);
        if (asked === undefined) throw new Error('An elicitation has vanished.');
        const connection = connectionFor(asked, { sealedTokens: `sealed ${CANARY}` });
        return of(await service.complete(call.id, digestOf(call.attempt), connection));
      }
      case 'expire':
        return of(await service.expire(call.id));
    }
  }

  async observe(): Promise<Observed> {
    const ids = [...this.model.known.keys()];
    const elicitations = new Map<ElicitationId, Elicitation | undefined>();
    for (const id of ids) elicitations.set(id, await this.#stores.elicitations.read(id));
    const connections = [];
    for (const owner of mcpServerIds) {
      for (const subject of [...people, 'mallory'])
        connections.push(...(await this.#stores.connections.list({ owner, subject: { issuer: ISSUER, subject } })));
    }
    const { events } = this.#stores;
    return { elicitations, connections, events, audits: this.#bench.audits, answers: this.#answers };
  }

  /** Takes over how things stand after calls whose order the model cannot know. */
  async learn(): Promise<void> {
    this.model.now = this.clock.now();
    const { elicitations, connections } = await this.observe();
    for (const [id, elicitation] of elicitations) {
      const known = this.model.known.get(id);
      if (known === undefined || elicitation === undefined) continue;
      known.status = elicitation.status;
      const digest = 'attempt' in elicitation ? elicitation.attempt : undefined;
      known.attempt = this.#begun.find(({ attempt }) => digestOf(attempt) === digest)?.attempt;
    }
    for (const { elicitationId } of connections) {
      const known = this.model.known.get(elicitationId);
      if (known !== undefined) this.model.connect(known);
    }
  }

  /** As the sweeper of every replica does, until nothing is due. */
  async endAll(): Promise<void> {
    this.clock.advance(2 * TTL_MS);
    for (const shard of SHARDS) {
      const due = await this.#stores.elicitations.due(shard, 1_000);
      await this.make([...due, ...due].map(id => ({ verb: 'expire', id })));
    }
  }
}

/** Every answer and refusal the verbs promise. */
const promised = [
  ...['created', 'open', 'served', 'advanced'],
  ...['pending', 'active', 'verifying', 'completed', 'failed', 'declined', 'cancelled', 'expired'],
  ...['not_found', 'wrong_person', 'already_ended', 'illegal_transition'],
];
/** How often each came, to know that the steps lead everywhere. */
const seen = new Map<string, number>();

/** One verb: it comes to exactly what the model says, and so does everything stored. */
class Alone implements fc.AsyncCommand<ReferenceModel, World> {
  readonly #step: Step;
  constructor(step: Step) {
    this.#step = step;
  }
  check = () => true;
  async run(model: ReferenceModel, world: World): Promise<void> {
    const call = world.callOf(this.#step);
    if (call === undefined) return;
    const expected = model.predict(call);
    expect(await world.make([call])).toEqual([expected]);
    const observed = await world.observe();
    world.invariants.check(observed);
    for (const [id, { status }] of model.known) expect(observed.elicitations.get(id)?.status).toBe(status);
  }
  toString = () => JSON.stringify(this.#step);
}

/** Several verbs at once: whoever has no business there is refused in every order, and the invariants hold. */
class Together implements fc.AsyncCommand<ReferenceModel, World> {
  readonly #steps: readonly Step[];
  constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }
  check = () => true;
  async run(model: ReferenceModel, world: World): Promise<void> {
    const calls = this.#steps.map(step => world.callOf(step)).filter(call => call !== undefined);
    const outcomes = await world.make(calls);
    for (const [nth, call] of calls.entries()) {
      const known = 'id' in call ? model.known.get(call.id) : undefined;
      const refusal = known && trespass(call, known);
      if (refusal !== undefined) expect(outcomes[nth]).toBe(refusal);
      else if (outcomes[nth] !== 'TypeError') expect(promised).toContain(outcomes[nth]);
      // A bug, unless the connection was for another elicitation.
      else expect(call.verb === 'complete' && call.connectionOf !== call.id).toBe(true);
    }
    world.invariants.check(await world.observe());
    await world.learn();
  }
  toString = () => `together ${JSON.stringify(this.#steps)}`;
}

const mcpServerId = fc.constantFrom(...mcpServerIds);
const nth = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) });
const attempt = fc.oneof(
  { weight: 3, arbitrary: fc.constant('current' as const) },
  { weight: 1, arbitrary: fc.constantFrom('earlier' as const, 'foreign' as const) },
);
const visitor = fc.oneof(
  { weight: 3, arbitrary: fc.constant('the person' as const) },
  {
    weight: 1,
    arbitrary: fc.record<ModelVisitor, 'person'>(
      { person: fc.constantFrom(...people, 'mallory', 'whoever'), vouchedBy: mcpServerId },
      { requiredKeys: ['person'] },
    ),
  },
);
const caller = fc.oneof(
  { weight: 3, arbitrary: fc.constant('its own' as const) },
  { weight: 1, arbitrary: mcpServerId },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      verb: fc.constant('issue' as const),
      mcpServerId,
      person: fc.constantFrom(...people),
      scopes: fc.constantFrom(['repo'], ['repo', 'admin']),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ verb: fc.constantFrom('open', 'accept', 'accept', 'accept', 'decline'), nth, visitor }),
  },
  { weight: 4, arbitrary: fc.record({ verb: fc.constantFrom('retry', 'hold', 'hold', 'fail'), nth, attempt }) },
  {
    weight: 3,
    arbitrary: fc.record({
      verb: fc.constant('complete' as const),
      nth,
      attempt,
      connectionOf: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ verb: fc.constantFrom('read', 'cancel'), nth, mcpServerId: caller }) },
  { weight: 1, arbitrary: fc.record({ verb: fc.constant('expire' as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({
      verb: fc.constant('advance' as const),
      ms: fc.constantFrom(1, MINUTE, TTL_MS - 1, TTL_MS),
    }),
  },
);

test('S11 I1–I6 hold whatever happens in whatever order', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.commands<ReferenceModel, World, false>(
        [
          step.map(each => new Alone(each)),
          fc.array(step, { minLength: 2, maxLength: 5 }).map(steps => new Together(steps)),
        ],
        { maxCommands: 40, size: 'max' },
      ),
      async (scheduler, commands) => {
        const world = new World(scheduler);
        await fc.asyncModelRun(() => ({ model: world.model, real: world }), commands);
        await world.endAll();
        const observed = await world.observe();
        world.invariants.check(observed);
        world.invariants.checkAllEnded(observed);
      },
    ),
    { numRuns: 1_500 },
  );
  expect(promised.filter(outcome => !seen.has(outcome))).toEqual([]);
});
