import { createSqliteStores } from '@postern/store-sqlite';
import { createFakeClock } from '@postern/testkit';
import { isShortRun } from '@postern/testkit/run-size';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ReferenceModel, trespass } from './testing/reference-model.ts';
import { scopesOf } from './testing/samples.ts';
import { type Step, step } from './testing/steps.ts';
import { World } from './testing/world.ts';

/**
 * S11 and the invariants I1 to I6 of the threat model, checked with random steps of two MCP servers, two users and a stranger. A
 * step is one verb, whose result the reference model predicts, or several concurrent verbs in an order that the scheduler chooses
 * at every store access. Results of concurrent verbs depend on the order; the invariants do not. On failure, fast-check prints
 * the seed, the path and the shortest steps that still fail.
 */

/** Longer than any run, so that ended elicitations stay readable until the last step. */
const FOREVER_MS = 365 * 24 * 3_600_000;

/** The seed is fixed, so that also the shorter run reaches every outcome below each time. */
const RUNS = isShortRun ? 200 : 1_000;
const SEED = Number(process.env['MODEL_SEED'] ?? 3);

/** Every result and refusal that the verbs promise. */
const promised = [
  ...['created', 'open', 'existing_connection', 'answered', 'existing_credential', 'redeemed', 'advanced'],
  ...['pending', 'active', 'verifying', 'completed', 'failed', 'declined', 'cancelled', 'expired'],
  ...['not_found', 'wrong_person', 'already_ended', 'illegal_transition', 'request_changed'],
  ...['payment_in_progress', 'not_redeemable', 'already_redeemed'],
];

/** One verb: its result and all stored records match the model. */
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
    for (const [id, { status, scopes }] of model.known) {
      const elicitation = observed.elicitations.get(id);
      expect(elicitation?.status).toBe(status);
      if (elicitation !== undefined) expect(scopesOf(elicitation)).toEqual([...scopes].sort());
    }
    world.learnAttempts(observed);
  }
  toString = () => JSON.stringify(this.#step);
}

/** Concurrent verbs: an unauthorized caller is refused in every order, and the invariants hold. */
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
      // Only legitimate if the connection was for another elicitation.
      else expect(call.verb === 'complete' && call.connectionOf !== call.id).toBe(true);
    }
    world.invariants.check(await world.observe());
    await world.learn();
  }
  toString = () => `together ${JSON.stringify(this.#steps)}`;
}

test('S11 I1–I6 hold for all steps in any order', async () => {
  const outcomes = new Map<string, number>();
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
        const clock = createFakeClock();
        await using stores = createSqliteStores({ path: ':memory:', now: clock.now, retentionMs: FOREVER_MS });
        const world = new World({ stores, clock, scheduler, outcomes });
        await fc.asyncModelRun(() => ({ model: world.model, real: world }), commands);
        await world.endAll();
        const observed = await world.observe();
        world.invariants.check(observed);
        world.invariants.checkAllEnded(observed);
      },
    ),
    { numRuns: RUNS, seed: SEED },
  );
  // The steps reach every outcome.
  expect(promised.filter(outcome => !outcomes.has(outcome))).toEqual([]);
});
