import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayConfigInput } from '@postern/gateway';
import {
  type AnsweredRequest,
  type AnsweringMachine,
  anyAnswers,
  startAnsweringMachine,
} from '@postern/testkit/any-answer';
import { type RedisServer, startRedis } from '@postern/testkit/redis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { hashOf } from '../support/world.ts';

const CANARY = 'Canary-4K1-Canary';
const answers = Object.entries(anyAnswers(CANARY));
/** Every so-manieth response. */
const STEP = 8;

let machine: AnsweringMachine;
let redis: RedisServer;
let folder = '';
const surprises: unknown[] = [];
const note = (error: unknown) => void surprises.push(error);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'postern-check-any-'));
  process.on('unhandledRejection', note);
  [machine, redis] = await Promise.all([startAnsweringMachine(), startRedis()]);
  const origin = `http://localhost:${machine.port}`;
  machine.behind(({ path }) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(
      JSON.stringify(
        {
          '/.well-known/openid-configuration': {
            issuer: origin,
            authorization_endpoint: `${origin}/authorize`,
            token_endpoint: `${origin}/token`,
            jwks_uri: `${origin}/keys`,
            code_challenge_methods_supported: ['S256'],
          },
        }[path] ?? { keys: [], proof: 'x' },
      ),
    ),
  }));
});
afterAll(async () => {
  process.off('unhandledRejection', note);
  await machine?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
  expect(surprises).toEqual([]);
});

function configFile(): string {
  const origin = `http://localhost:${machine.port}`;
  const config: GatewayConfigInput = {
    publicUrl: origin,
    vault: { keys: [{ kid: 'first', key: randomBytes(32).toString('base64') }] },
    outbound: { timeoutSeconds: 20 },
    redis: { url: redis.url },
    identityProviders: [{ name: 'id', issuer: origin, clientId: 'postern' }],
    providers: [
      {
        name: 'forge',
        displayName: 'Forge',
        clientId: 'postern',
        authorizationEndpoint: `${origin}/authorize`,
        tokenEndpoint: `${origin}/token`,
      },
    ],
    processors: [
      { type: 'stripe', name: 'pay', secretKey: 'rk_test_abc', webhookSecrets: ['whsec_abc'], apiUrl: origin },
    ],
    mcpServers: [
      {
        id: 'tracker',
        name: 'Tracker',
        url: 'http://localhost:7001/mcp',
        providers: ['forge'],
        apiKeys: [{ hash: hashOf('pk_tracker') }],
        issuers: [origin],
      },
    ],
  };
  const path = join(folder, 'config.yaml');
  writeFileSync(path, JSON.stringify(config));
  return path;
}

async function checkedWith(matches: (request: AnsweredRequest) => boolean, [name, damage]: (typeof answers)[number]) {
  using order = machine.answer(matches, damage);
  const { out, err } = await runCommand(['check', '--json', configFile()], { env: { PATH: process.env['PATH'] } });
  expect({ name, isAsked: order.count > 0, isShown: (out + err).includes(CANARY) }).toEqual({
    name,
    isAsked: true,
    isShown: false,
  });
  // Every answer has an explanation: none is an unexpected error.
  expect({ name, out }).not.toMatchObject({ out: expect.stringContaining('unexpectedly') });
  const { findings } = JSON.parse(out) as { findings: unknown };
  expect(findings).toEqual(expect.arrayContaining([expect.objectContaining({ check: 'clock' })]));
}

const starting = (path: string) => (request: AnsweredRequest) => request.path.startsWith(path);

it.each([
  ['the metadata', '/.well-known/openid-configuration'],
  ['the keys', '/keys'],
  ['the token endpoint', '/token'],
  ['the payment processor', '/v1/'],
  ['publicUrl', '/gateway-proof/'],
])('any response of %s ends in a finding without its text', async (_, path) => {
  const some = answers.filter((_answer, at) => at % STEP === path.length % STEP);
  expect(some.length).toBeGreaterThan(5);
  for (const answer of some) await checkedWith(starting(path), answer);
});
