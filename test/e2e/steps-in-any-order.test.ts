import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptFormIn, destinationIn, type RawBrowser } from '../support/raw-browser.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

const RUNS = 25;
/** The requested scopes: the base scopes of the configuration, and those of one or two tools. */
const FIRST = ['openid', 'profile', 'repo'];
const WIDENED = ['issues', ...FIRST];
let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** The expected state of the elicitation, modelled independently of the code under test. */
interface Model {
  status: 'pending' | 'active' | 'completed' | 'declined' | 'cancelled';
  /** Versions of the stored request, and of the page that Alice sees. */
  scopes: readonly string[];
  shown: readonly string[];
  /** One attempt per acceptance; only an unused response to the last one counts. */
  attempts: { isSpent: boolean }[];
  tokenRequests: number;
  /** The granted scopes: those that the user agreed to for the completing attempt. */
  granted: readonly string[];
}

interface Real {
  readonly elicitationId: string;
  readonly aliceName: string;
  readonly alice: RawBrowser;
  readonly bob: RawBrowser;
  aliceForm: Record<string, string>;
  readonly bobForm: Record<string, string>;
  readonly answers: URL[];
  readonly tokenRequestsBefore: number;
}

type Command = fc.AsyncCommand<Model, Real>;
const isOpen = ({ status }: Model) => status === 'pending' || status === 'active';

async function expectAsModelled(model: Model, real: Real): Promise<void> {
  const { body } = await world.api.read(real.elicitationId);
  expect(body.status).toBe(model.status);
  expect(body.outcome?.scopes).toEqual(model.status === 'completed' ? model.granted : undefined);
  expect(world.provider.requests('token').length - real.tokenRequestsBefore).toBe(model.tokenRequests);
}

function step(
  name: string,
  act: (model: Model, real: Real) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): Command {
  return {
    check,
    async run(model, real) {
      await act(model, real);
      await expectAsModelled(model, real);
    },
    toString: () => name,
  };
}

/** Delivers the response to the attempt `back` attempts ago, if there is one. */
function answerStep(
  name: string,
  back: number,
  deliver: (model: Model, real: Real, url: URL, at: number) => Promise<void>,
) {
  return step(`${name} the response to the attempt ${back} attempts ago`, async (model, real) => {
    const at = model.attempts.length - 1 - back;
    const url = real.answers[at];
    if (url !== undefined) await deliver(model, real, url, at);
  });
}

const steps = [
  step('Alice looks', async (model, real) => {
    const page = await real.alice.get(`/e/${real.elicitationId}`);
    expect(page.status).toBe(200);
    if (!isOpen(model)) return;
    real.aliceForm = acceptFormIn(page);
    model.shown = model.scopes;
  }),
  step('Bob looks', async (_, { bob, elicitationId }) => {
    expect((await bob.get(`/e/${elicitationId}`)).status).toBe(403);
  }),
  step('Alice accepts', async (model, { alice, elicitationId, aliceForm, answers }) => {
    const answer = await alice.post(`/e/${elicitationId}/accept`, { form: aliceForm });
    if (isOpen(model) && model.shown !== model.scopes) {
      expect(answer.status).toBe(409);
      return;
    }
    expect(answer.location).toBe(isOpen(model) ? `/e/${elicitationId}/leaving` : `/e/${elicitationId}`);
    if (!isOpen(model)) return;
    const leaving = await alice.get(`/e/${elicitationId}/leaving`);
    const destination = destinationIn(leaving);
    expect(destination.searchParams.get('scope')?.split(' ').sort()).toEqual(model.scopes);
    answers.push(await alice.decideAtProvider(destination, 'alice'));
    model.attempts.push({ isSpent: false });
    model.status = 'active';
  }),
  step('Alice declines', async (model, { alice, elicitationId, aliceForm }) => {
    const { location } = await alice.post(`/e/${elicitationId}/decline`, { form: aliceForm });
    expect(location).toBe(`/e/${elicitationId}`);
    if (isOpen(model)) model.status = 'declined';
  }),
  step('Bob accepts and declines', async (_, { bob, elicitationId, bobForm }) => {
    for (const verb of ['accept', 'decline'])
      expect((await bob.post(`/e/${elicitationId}/${verb}`, { form: bobForm })).status).toBe(403);
  }),
  step(
    'another tool asks for more scopes',
    async (model, { aliceName, elicitationId }) => {
      const more = askFor(world, aliceName, { authorization: { provider: 'forge', scopes: ['issues'] } });
      const { status, body } = await world.api.issue(more);
      expect([status, body.elicitationId]).toEqual([200, elicitationId]);
      model.scopes = WIDENED;
    },
    // After the elicitation is active or ended, the ask starts another one and does not affect this one.
    ({ status }) => status === 'pending',
  ),
  step('the MCP server cancels', async (model, { elicitationId }) => {
    const { status } = await world.api.cancel(elicitationId);
    expect(status).toBe(isOpen(model) || model.status === 'cancelled' ? 200 : 409);
    if (isOpen(model)) model.status = 'cancelled';
  }),
  ...[0, 1].map(back =>
    answerStep('Alice brings', back, async (model, { alice, elicitationId }, url, at) => {
      expect((await alice.get(url)).location).toBe(`/e/${elicitationId}`);
      const attempt = model.attempts[at];
      const counts = attempt?.isSpent === false && at === model.attempts.length - 1 && model.status === 'active';
      if (attempt !== undefined) attempt.isSpent = true;
      if (!counts) return;
      model.tokenRequests += 1;
      model.status = 'completed';
      model.granted = model.scopes;
    }),
  ),
  ...[0, 1].map(back =>
    answerStep('Bob brings', back, async (model, { bob }, url, at) => {
      expect((await bob.get(url)).status).toBe(400);
      const attempt = model.attempts[at];
      if (attempt !== undefined) attempt.isSpent = true;
    }),
  ),
  answerStep('Alice returns a refusal instead of', 0, async (model, { alice, elicitationId }, url, at) => {
    const refusal = new URL(url);
    refusal.searchParams.delete('code');
    refusal.searchParams.set('error', 'access_denied');
    expect((await alice.get(refusal)).location).toBe(`/e/${elicitationId}`);
    const attempt = model.attempts[at];
    if (attempt?.isSpent === false && model.status === 'active') model.status = 'pending';
    if (attempt !== undefined) attempt.isSpent = true;
  }),
];

describe('S11: skipped, repeated or reordered steps have no effect', () => {
  it('two users and an MCP server that act in any order cause only transitions of the table', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.commands(
          steps.map(command => fc.constant(command)),
          { maxCommands: 14, size: 'max' },
        ),
        async commands => {
          await fc.asyncModelRun(async () => {
            const [aliceName, bobName] = [world.subject(), world.subject()];
            const { elicitationId } = await world.ask(aliceName);
            const bait = await world.ask(bobName);
            const [alice, bob] = [world.raw(), world.raw()];
            await alice.signIn(elicitationId, aliceName);
            await bob.signIn(bait.elicitationId, bobName);
            return {
              model: {
                status: 'pending',
                scopes: FIRST,
                shown: FIRST,
                attempts: [],
                tokenRequests: 0,
                granted: [],
              } satisfies Model as Model,
              real: {
                elicitationId,
                aliceName,
                alice,
                bob,
                aliceForm: await alice.acceptForm(elicitationId),
                bobForm: await bob.acceptForm(bait.elicitationId),
                answers: [],
                tokenRequestsBefore: world.provider.requests('token').length,
              } satisfies Real as Real,
            };
          }, commands);
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
});
