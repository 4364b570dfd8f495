import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { allEvents } from '@postern/testkit/contract';
import type fc from 'fast-check';
import { expect } from 'vitest';
import type { CredentialStore } from '../credential.ts';
import { type Approval, type Elicitation, isCharging } from '../elicitation.ts';
import { type ElicitationId, shardIn } from '../ids.ts';
import { type Begun, callOf } from './call-of.ts';
import { type Answer, callService } from './calling.ts';
import { Invariants, type Observed } from './invariants.ts';
import { approval, requests, samples } from './kind-bench.ts';
import {
  type Call,
  type Known,
  type McpServerId,
  type Person,
  people,
  ReferenceModel,
  trespass,
} from './reference-model.ts';
import { ISSUER, scopesOf, TTL_MS } from './samples.ts';
import { type BenchClock, type BenchStores, createServiceBench } from './service-bench.ts';
import type { Step } from './steps.ts';
import { storeWith } from './store-with.ts';

function knownOf(elicitation: Elicitation): [ElicitationId, Known] {
  const { elicitationId, mcpServerId, subject, request, expiresAt } = elicitation;
  const whose = { mcpServerId: mcpServerId as McpServerId, person: subject.subject as Person };
  const what = samples.find(sample => isDeepStrictEqual(requests[sample], request)) ?? 'authorization';
  const scopes = scopesOf(elicitation);
  const nothing = { attempt: undefined, charge: undefined, redemption: undefined };
  return [elicitationId, { ...whose, what, firstScopes: scopes, scopes, expiresAt, status: 'pending', ...nothing }];
}

export interface WorldClock extends BenchClock {
  advance(ms: number): void;
}

export interface WorldStores extends BenchStores {
  readonly credentials: CredentialStore;
}

/** The service on stores whose every access waits for its turn, and everything observable about it. */
export class World {
  readonly model: ReferenceModel;
  readonly invariants = new Invariants();
  /** Number of times that each result and refusal occurred. */
  readonly outcomes: Map<string, number>;
  readonly #clock: WorldClock;
  readonly #stores: WorldStores;
  readonly #scheduler: fc.Scheduler;
  readonly #bench;
  readonly #answers: unknown[] = [];
  readonly #begun: Begun[] = [];
  readonly #approvals = new Map<ElicitationId, Approval[]>();
  readonly #redemptions = new Map<ElicitationId, Set<string>>();
  #drawn = 0;
  #given = 0;

  constructor(p: {
    readonly stores: WorldStores;
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
    // The scheduler decides which store access comes next. Each access is atomic, as the port promises.
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

  /** Undefined if nothing suitable exists yet. */
  callOf(step: Step): Call | undefined {
    return callOf(step, this.model, this.#begun);
  }

  /** Makes the calls concurrently and returns their results. */
  async make(calls: readonly Call[]): Promise<readonly string[]> {
    // Same order in every replay: all calls have started before the scheduler gives the first turn.
    const outcomes = await this.#scheduler.waitFor(Promise.all(calls.map(call => this.#make(call))));
    for (const outcome of outcomes) this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    return outcomes;
  }

  async #make(call: Call): Promise<string> {
    try {
      const { outcome, answer } = await this.#call(call);
      this.#answers.push(answer);
      // I6: only the owner ever gets a response, however the calls interleave.
      const known = 'id' in call ? this.model.known.get(call.id) : undefined;
      if (known !== undefined) expect(trespass(call, known)).toBeUndefined();
      if (call.verb === 'redeem') {
        const names = this.#redemptions.get(call.id) ?? new Set();
        this.#redemptions.set(call.id, names.add(call.redemption));
      }
      return outcome;
    } catch (error) {
      if (!(error instanceof Error) || error.name === 'AssertionError') throw error;
      this.#answers.push({ ...error, name: error.name, message: error.message, cause: error.cause });
      return 'code' in error ? String(error.code) : error.name;
    }
  }

  async #call(call: Call): Promise<Answer> {
    if (call.verb !== 'advance')
      return callService(
        this.#bench.service,
        call,
        id => this.#read(id),
        approving => this.#approve(approving),
      );
    await this.#scheduler.schedule(Promise.resolve(), 'advance');
    this.#clock.advance(call.ms);
    return { outcome: 'advanced', answer: undefined };
  }

  /** Identified by its time, which is recorded before the commit, so that any order of commits is expected. */
  #approve(call: Extract<Call, { verb: 'approve' }>): Approval {
    this.#given += 1;
    const given = { ...approval, at: this.#given };
    const known = this.model.known.get(call.id);
    if (call.isShown && known !== undefined && trespass(call, known) === undefined)
      this.#approvals.set(call.id, [...(this.#approvals.get(call.id) ?? []), given]);
    return given;
  }

  async #read(id: ElicitationId): Promise<Elicitation> {
    const elicitation = await this.#stores.elicitations.read(id);
    if (elicitation === undefined) throw new Error('An elicitation has vanished.');
    return elicitation;
  }

  async observe(): Promise<Observed> {
    const ids = [...this.model.known.keys()];
    const elicitations = new Map<ElicitationId, Elicitation | undefined>();
    for (const id of ids) elicitations.set(id, await this.#stores.elicitations.read(id));
    const connections = [];
    const credentials = [];
    for (const subject of [...people, 'mallory']) {
      connections.push(...(await this.#stores.connections.list({ issuer: ISSUER, subject })));
      credentials.push(...(await this.#stores.credentials.list({ issuer: ISSUER, subject })));
    }
    return {
      elicitations,
      connections,
      credentials,
      approvals: this.#approvals,
      redemptions: this.#redemptions,
      events: await allEvents(this.#stores),
      audits: this.#bench.audits,
      answers: this.#answers,
    };
  }

  /** Looks up the attempts of approvals, which the service chooses. */
  learnAttempts({ elicitations }: Observed): void {
    for (const [id, elicitation] of elicitations) {
      const known = this.model.known.get(id);
      if (known === undefined || elicitation === undefined || !isCharging(elicitation)) continue;
      known.attempt = elicitation.attempt;
      if (!this.#begun.some(({ attempt }) => attempt === elicitation.attempt))
        this.#begun.push({ id, attempt: elicitation.attempt });
    }
  }

  /** Copies the actual state after calls whose order the model cannot know. */
  async learn(): Promise<void> {
    this.model.now = this.#clock.now();
    const observed = await this.observe();
    for (const [id, elicitation] of observed.elicitations) {
      const known = this.model.known.get(id);
      if (known === undefined || elicitation === undefined) continue;
      known.status = elicitation.status;
      known.scopes = scopesOf(elicitation);
      known.attempt = 'attempt' in elicitation ? elicitation.attempt : undefined;
      known.charge = isCharging(elicitation) ? elicitation.charge?.reference : undefined;
      known.redemption = [...(this.#redemptions.get(id) ?? [])][0];
    }
    for (const { elicitationId } of [...observed.connections, ...observed.credentials]) {
      const known = this.model.known.get(elicitationId);
      if (known !== undefined) this.model.keep(known);
    }
    this.learnAttempts(observed);
  }

  /** Acts like the sweeper of every replica until nothing is due. Closes charging payments at the processor first. */
  async endAll(): Promise<void> {
    this.#clock.advance(2 * TTL_MS);
    for (const shard of new Set([...this.model.known.keys()].map(shardIn))) {
      const due = await this.#stores.elicitations.due(shard, 1_000);
      await this.make([...due, ...due].map(id => ({ verb: 'expire', id })));
      for (const id of await this.#stores.elicitations.due(shard, 1_000)) {
        const elicitation = await this.#read(id);
        if (!isCharging(elicitation)) continue;
        const closing = { verb: 'settle', id, attempt: elicitation.attempt } as const;
        const settlement = { result: 'closed', as: 'retry' } as const;
        await this.make([closing, closing].map(call => ({ ...call, settlement })));
      }
    }
  }
}
