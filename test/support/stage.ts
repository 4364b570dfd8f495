import type { TestUser } from '@postern/testkit/providers';
import { watchForLeaks } from './leak-watch.ts';
import { createRawBrowser, type RawBrowser } from './raw-browser.ts';
import {
  type Api,
  type AuthorizationInput,
  askFor,
  type ElicitationAnswer,
  startWorld,
  type World,
  type WorldOptions,
} from './world.ts';

/** A world with people enough that no two tests of a file meet in one subject. */
export interface Stage extends AsyncDisposable {
  readonly world: World;
  /** Of the MCP server `tracker`. */
  readonly api: Api;
  /** A user of the identity provider whom no test has used yet. */
  subject(): string;
  raw(): RawBrowser;
  /** Issues an ask for `user`. */
  ask(user: string, overrides?: Partial<AuthorizationInput>): Promise<ElicitationAnswer>;
}

const PEOPLE = 80;
const user = (sub: string): TestUser => ({ sub, name: `${sub} Example`, email: `${sub}@example.com` });

/** Users of the identity provider in these worlds, beside those that `subject()` hands out. */
export const stageUsers: readonly TestUser[] = [
  user('alice'),
  user('bob'),
  ...Array.from({ length: PEOPLE }, (_, n) => user(`person-${n}`)),
];

export interface StageOptions extends WorldOptions {
  /** The file leaves secrets where they do not belong on purpose, and searches for them itself. */
  readonly plantsLeaks?: true;
}

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const world = await startWorld({
    ...options,
    identityProvider: { users: stageUsers, ...options.identityProvider },
    config: parts => ({
      // A test file is one client address.
      limits: { pageRequestsPerMinute: 1_000_000 },
      ...(typeof options.config === 'function' ? options.config(parts) : options.config),
    }),
  });
  const leaks = watchForLeaks(world);
  const api = world.api();
  let used = 0;
  return {
    world,
    api,
    subject() {
      if (used === PEOPLE) throw new Error('nobody is left');
      used += 1;
      return `person-${used - 1}`;
    },
    raw: () => createRawBrowser({ address: world.gateways[0]?.address ?? world.publicUrl, publicUrl: world.publicUrl }),
    ask: async (subject, overrides) => {
      const issued = await api.issue(askFor(world, subject, overrides));
      if (issued.status !== 201) throw new Error(`not issued: ${issued.status} ${issued.body.code ?? ''}`);
      return issued.body;
    },
    async [Symbol.asyncDispose]() {
      try {
        // Whatever a file has played: none of the secrets of it may be left anywhere.
        if (options.plantsLeaks !== true) await leaks.assertNone();
      } finally {
        leaks[Symbol.dispose]();
        await world[Symbol.asyncDispose]();
      }
    },
  };
}
