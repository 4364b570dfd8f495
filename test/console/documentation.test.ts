/** docs/console.md and the section of infra/postern.config.yaml, followed as an operator follows them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { root } from '../../scripts/child.ts';
import { blocksIn } from '../docs/support/doc-blocks.ts';
import type { World } from '../support/world.ts';
import { CONSOLE, consoleBrowser, operators, signedIn, signIn, startConsoleWorld } from './console-world.ts';

const names = z.array(z.string());
const sectionSchema = z.object({
  console: z.object({
    publicUrl: z.string(),
    listen: z.object({ host: z.string(), port: z.number() }),
    identityProvider: z.object({ clientId: z.string(), clientSecret: z.string() }),
    roles: z.strictObject({ claim: z.string(), viewer: names, support: names, operator: names }),
  }),
});
const sectionIn = (yaml: string) => sectionSchema.parse(parse(yaml)).console;

const [documented, ...others] = blocksIn('yaml').filter(({ document }) => document === 'docs/console.md');
const shipped = readFileSync(join(root, 'infra/postern.config.yaml'), 'utf8').split('\n#console:')[1] ?? '';
const text = readFileSync(join(root, 'docs/console.md'), 'utf8');
const section = sectionIn(documented?.body ?? '');

let world: World;
beforeAll(async () => {
  world = await startConsoleWorld({}, section.roles);
});
afterAll(() => world[Symbol.asyncDispose]());

describe('S154: the documented console', () => {
  it('is one block, which names the redirect URI that the gateway sends', async () => {
    expect(others).toEqual([]);
    for (const path of ['/login/callback/console', '/logout/callback/console', '/login/back-channel-logout/console'])
      expect(text).toContain(`\`${section.publicUrl}${path}\``);
    const { location = '' } = await consoleBrowser(world).get('/login');
    const { searchParams } = new URL(location);
    expect(searchParams.get('redirect_uri')).toBe(`${CONSOLE}/login/callback/console`);
    expect(searchParams.get('client_id')).toBe(section.identityProvider.clientId);
  });

  it.each([
    ['viewer', '/elicitations', '/people'],
    ['support', '/people', '/api-keys/ak_1/revoke'],
    ['operator', '/people', undefined],
  ] as const)('gives the documented group of %s that role', async (role, allowed, refused) => {
    const browser = await signedIn(world, operators[role]);
    expect((await browser.get(allowed)).status).toBe(200);
    if (refused !== undefined) expect((await browser.get(refused)).status).toBe(403);
  });

  it('refuses a sign-in without a role, and offers another account', async () => {
    const answer = await signIn(consoleBrowser(world), operators.none);
    expect(answer.status).toBe(403);
    expect(answer.body).toContain('/login?to=%2F&#38;fresh=1');
  });

  it('has the section that infra/postern.config.yaml has as a comment, on the port that Compose publishes', () => {
    const yaml = `console:\n${shipped.replaceAll(/^#/gm, '')}`;
    const { roles, listen } = sectionIn(yaml);
    expect(roles).toEqual(section.roles);
    expect(listen.host).toBe('0.0.0.0');
    expect(readFileSync(join(root, 'docker-compose.yml'), 'utf8')).toContain(`127.0.0.1:${listen.port}:${listen.port}`);
  });
});

it('S154: the sign-in of operators has a bulkhead of its own, beside an identity provider with any name', async () => {
  world.identityProvider.fault({ endpoint: 'token', status: 500 });
  const browser = consoleBrowser(world);
  expect((await signIn(browser, operators.viewer)).status).not.toBe(303);
  expect(world.log()).toMatch(/"event":"outbound.failed","target":"operator_sign_in"/);
  world.identityProvider.clearFaults();
  expect((await signIn(browser, operators.viewer)).status).toBe(303);
});
