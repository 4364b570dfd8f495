import { join } from 'node:path';
import {
  type ClientScenario,
  type ConformanceCheck,
  clientScenarios,
  type OpenAs,
  type Revision,
  serverScenarios,
} from '@postern/conformance';
import { type GatedEndpointOptions, movingSessions, startGatedEndpoint } from '../../support/gated-endpoint.ts';
import { connectAccount, elicitationIdOf } from '../../support/person-at-gateway.ts';
import type { World } from '../../support/world.ts';

/** The ways in which an MCP server built with `@postern/mcp` asks. */
export const waysOfAsking = [
  { revision: '2025-11-25', options: {} },
  { revision: '2025-11-25', options: { postern: { sessions: movingSessions } } },
  { revision: '2026-07-28', options: {} },
  { revision: '2026-07-28', options: { postern: { missingCapability: 'error' } } },
] as const satisfies readonly { readonly revision: Revision; readonly options: GatedEndpointOptions }[];
export type WayOfAsking = (typeof waysOfAsking)[number];

/** What the page and its form answer to a person who may not see it. */
const REFUSED = [401, 403];

/** Opens the page as this person, and does everything that the browser lets them do. @throws if the gateway lets the wrong one do it */
function openerFor(world: World, user: string, stranger: string): OpenAs {
  return async (person, url) => {
    const elicitationId = elicitationIdOf(url);
    const browser = world.raw();
    if (person === 'owner') await connectAccount(browser, elicitationId, user);
    else {
      if (person === 'stranger') await browser.signIn(elicitationId, stranger);
      const page = await browser.get(new URL(url));
      const [, token = 'none'] = /name="csrf_token" value="([^"]+)"/.exec(page.body) ?? [];
      for (const action of ['accept', 'decline']) {
        const { status } = await browser.post(`/e/${elicitationId}/${action}`, { form: { csrf_token: token } });
        if (!REFUSED.includes(status)) throw new Error(`${action} as ${person}: ${status}`);
      }
    }
    return 'done';
  };
}

/** Runs every scenario for MCP servers, each in the name of a new user. */
export async function runAgainstPostern(
  world: World,
  { revision, options }: WayOfAsking,
): Promise<readonly ConformanceCheck[]> {
  await using endpoint = await startGatedEndpoint(world, options);
  const found: ConformanceCheck[] = [];
  for (const scenario of serverScenarios.filter(({ revisions }) => revisions.some(each => each === revision))) {
    const [user, stranger] = [world.subject(), world.subject()];
    const as = (subject: string) => ({ url: endpoint.url, headers: { authorization: `Bearer ${subject}` } });
    const checks = await scenario.run({
      revision,
      endpoint: as(user),
      otherEndpoint: as(stranger),
      tool: 'connect',
      args: { note: 'A-17' },
      otherArgs: { note: 'A-18' },
      userData: [`${user}@example.com`],
      openAs: openerFor(world, user, stranger),
      limitMs: 60_000,
      settleMs: 300,
    });
    found.push(...checks);
  }
  return found;
}

/** Runs one scenario for MCP clients against `@postern/host`. */
export async function runAgainstHost(
  scenario: ClientScenario,
  revision: Revision,
): Promise<readonly ConformanceCheck[]> {
  const command = `'${process.execPath}' '${join(import.meta.dirname, 'host-program.ts')}'`;
  return (await scenario.run({ revision, command, timeoutMs: 100_000 })).checks;
}

export const hostScenarios = clientScenarios.flatMap(scenario =>
  scenario.revisions.map(revision => ({ scenario, revision })),
);
