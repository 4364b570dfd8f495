import { createHash } from 'node:crypto';
import type fc from 'fast-check';
import { expect } from 'vitest';
import type { Elicitation } from '../elicitation.ts';
import { digestOf, type ElicitationId, SHARDS } from '../ids.ts';
import type { Visitor } from '../visitor.ts';
import { CANARY, Invariants, type Observed } from './invariants.ts';
import {
  type Call,
  type Known,
  type McpServerId,
  type ModelVisitor,
  type Person,
  people,
  ReferenceModel,
  trespass,
} from './reference-model.ts';
import { connectionFor, ISSUER, mcpServer, oneTime, TTL_MS } from './samples.ts';
import { type BenchClock, type BenchStores, createServiceBench } from './service-bench.ts';
import type { Step } from './steps.ts';

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

function knownOf({ elicitationId, mcpServerId, subject, request, expiresAt }: Elicitation): [ElicitationId, Known] {
  const whose = { mcpServerId: mcpServerId as McpServerId, person: subject.subject as Person };
  const { scopes } = request;
  return [elicitationId, { ...whose, firstScopes: scopes, scopes, expiresAt, status: 'pending', attempt: undefined }];
}

export interface WorldClock extends BenchClock {
  advance(ms: number): void;
}

/** The service on stores whose every access waits for its turn, and all that can be observed of it. */
export class World {
  readonly model: ReferenceModel;
  readonly invariants = new Invariants();
  /** How often each answer and refusal came. */
  readonly outcomes: Map<string, number>;
  readonly #clock: WorldClock;
  readonly #stores: BenchStores;
  readonly #scheduler: fc.Scheduler;
  readonly #bench;
  readonly #answers: unknown[] = [];
  /** Every one-time value handed out, oldest first. */
  readonly #begun: { readonly id: ElicitationId; readonly attempt: string }[] = [];
  #drawn = 0;

  constructor(p: {
    readonly stores: BenchStores;
    readonly clock: WorldClock;
    readonly scheduler: fc.Scheduler;
    readonly outcomes: Map<string, number>;
  }) {
    const { stores, clock, scheduler } = p;
    this.model = new ReferenceModel(clock.now());
    this.outcomes = p.outcomes;
    this.#clock = clock;
    this.#stores = stores;
    this.#scheduler = scheduler;
    // The scheduler decides whose access to the store comes next; each access is atomic, as the port promises.
    const turn = <A, R>(label: string, access: (argument: A) => Promise<R>) => {
      return (argument: A) => scheduler.schedule(Promise.resolve(), label).then(() => access(argument));
    };
    const { elicitations } = stores;
    const scheduled = storeWith(elicitations, {
      create: turn('create', async request => {
        const result = await elicitations.create(request);
        if (result.result === 'created') this.model.created(...knownOf(result.elicitation));
        return result;
      }),
      read: turn('read', id => elicitations.read(id)),
      transition: turn('transition', request => elicitations.transition(request)),
      redeem: turn('redeem', request => elicitations.redeem(request)),
    });
    const entropy = (length: number) => {
      this.#drawn += 1;
      return createHash('sha256').update(`${this.#drawn}`).digest().subarray(0, length);
    };
    this.#bench = createServiceBench({ ...stores, elicitations: scheduled }, clock, entropy);
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
        const agreedScopes = step.agreesTo === 'now' ? known.scopes : known.firstScopes;
        return { verb: step.verb, id, visitor, begins, agreedScopes };
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
    for (const outcome of outcomes) this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
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
        this.#clock.advance(call.ms);
        return { outcome: 'advanced' };
      case 'issue': {
        const { mcpServerId, person, scopes } = call;
        const subject = { issuer: ISSUER, subject: person };
        const request = { kind: 'authorization', provider: 'github', scopes } as const;
        const issued = await service.issue(server(mcpServerId), { subject, request, ttlMs: TTL_MS });
        if (issued.disposition === 'served') expect(issued.connection).toMatchObject({ owner: mcpServerId, subject });
        else {
          expect(issued.elicitation).toMatchObject({ mcpServerId, subject });
          // Whoever waits for it gets everything it needs.
          expect(issued.elicitation.request.scopes).toEqual(expect.arrayContaining([...scopes]));
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
        return of(
          await service.accept(call.id, visitorOf(call.visitor), begun(call.id, call.begins), call.agreedScopes),
        );
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
    for (const subject of [...people, 'mallory'])
      connections.push(...(await this.#stores.connections.list({ issuer: ISSUER, subject })));
    const { events } = this.#stores;
    return { elicitations, connections, events, audits: this.#bench.audits, answers: this.#answers };
  }

  /** Takes over how things stand after calls whose order the model cannot know. */
  async learn(): Promise<void> {
    this.model.now = this.#clock.now();
    const { elicitations, connections } = await this.observe();
    for (const [id, elicitation] of elicitations) {
      const known = this.model.known.get(id);
      if (known === undefined || elicitation === undefined) continue;
      known.status = elicitation.status;
      known.scopes = elicitation.request.scopes;
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
    this.#clock.advance(2 * TTL_MS);
    for (const shard of SHARDS) {
      const due = await this.#stores.elicitations.due(shard, 1_000);
      await this.make([...due, ...due].map(id => ({ verb: 'expire', id })));
    }
  }
}
