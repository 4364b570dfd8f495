/** Rotation with the commands of docs/key-services.md: between local keys, the Transit engine and AWS KMS, in every direction. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createLogger, type Gateway, type GatewayConfigInput, parseConfig, startGateway } from '@postern/gateway';
import { startFakeKms, startFakeTransit } from '@postern/testkit/key-services';
import { endingWithParent } from '@postern/testkit/processes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../services/gateway/src/testing/run-command.ts';
import { acceptWith, apiKeyRequest, deliveryForm, issueFor } from '../support/asks.ts';
import { compiledGateway } from '../support/compiled-gateway.ts';
import { connectPerson } from '../support/connected-person.ts';
import { createRawBrowser, type RawBrowser } from '../support/raw-browser.ts';
import { type Answer, type Api, createApi, startWorld, type World } from '../support/world.ts';

type VaultKeys = GatewayConfigInput['vault']['keys'];
type Place = 'file' | 'transit' | 'kms';

/** More than one batch of `postern vault rewrap`. */
const CREDENTIALS = 36;
/** The request at which the command is killed, in its second batch of 32. A new key opens each value that it has sealed. */
const killedAt = (next: Place) => (next === 'file' ? 34 : 2 * 32 + 2);
const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const postern = join(dirname(createRequire(import.meta.url).resolve('@postern/gateway')), 'cli/postern.ts');
const statusSchema = z.object({
  keys: z.array(z.object({ kid: z.string(), role: z.string(), counts: z.record(z.string(), z.int()) })),
  unreadable: z.tuple([]),
});

const transit = await startFakeTransit({ keys: ['postern'] });
const kms = await startFakeKms({ keys: [arn] });
const environment = {
  AWS_ENDPOINT_URL_KMS: kms.url,
  AWS_ACCESS_KEY_ID: kms.credentials.accessKeyId,
  AWS_SECRET_ACCESS_KEY: kms.credentials.secretAccessKey,
  AWS_EC2_METADATA_DISABLED: 'true',
};
const serviceOf = (place: Place) => (place === 'transit' ? transit : kms);
const transactionKey = randomBytes(32).toString('base64');
const fileKey = randomBytes(32).toString('base64');

const stack = new AsyncDisposableStack();
let world: World;
let folder: string;
let browser: RawBrowser;
let user: string;
/** Every value that must stay readable: how it is read, and members of the response. */
const values: { readonly read: (api: Api) => Promise<Answer<object>>; readonly body: object }[] = [];
/** What signs receipts without a local key, with the public key of receipts that were signed before. */
let receipts: GatewayConfigInput['receipts'];
/** An API key of the store, which the gateways open too. */
let apiKey: string;

beforeAll(async () => {
  stack.use(transit);
  stack.use(kms);
  Object.assign(process.env, environment);
  world = stack.use(
    await startWorld({
      mcpServer: { limits: { requestsPerMinute: 1_000_000, elicitationsPerSubject: 1_000 } },
      config: { vault: vaultWith('file') },
    }),
  );
  folder = await mkdtemp(join(tmpdir(), 'postern-rotation-'));
  stack.defer(() => rm(folder, { recursive: true }));

  const created = await run('file', 'receipts', 'new-key', '--kid', 'receipts-1', '--out', '-');
  const [derived] = await receiptKeysAt(world.gateways[0]);
  receipts = {
    keys: [
      { kid: 'receipts-1', key: created.out },
      { kid: derived?.kid ?? '', key: JSON.stringify(derived) },
    ],
  };
  const added = await run('file', ...'api-keys add tracker rotation --by olga --reason test --json'.split(' '));
  apiKey = z.object({ key: z.string() }).parse(JSON.parse(added.out)).key;
  const { connectionId, token } = await connectPerson(world);
  values.push({
    read: api => api.accessToken(connectionId),
    body: { accessToken: (await token()).accessToken },
  });
  user = world.subject();
  browser = world.raw();
  const { elicitationId } = await issueFor(world, user, { kind: 'form', form: deliveryForm });
  await browser.signIn(elicitationId, user);
  await acceptWith(browser, elicitationId, { name: 'Alice', parcels: '2' });
  values.push({
    read: api => api.redeem(elicitationId, { 'idempotency-key': 'once' }),
    body: { content: { name: 'Alice', express: false, parcels: 2 } },
  });
  for (let at = 0; at < CREDENTIALS; at += 1) await store(world.gateways[0], browser);
});
afterAll(async () => {
  for (const name of Object.keys(environment)) delete process.env[name];
  await stack.disposeAsync();
});

/** The user stores a credential on the page of this gateway. */
async function store(gateway: Gateway | undefined, raw: RawBrowser): Promise<void> {
  if (gateway === undefined) throw new Error('no gateway');
  const value = `ak_${randomBytes(8).toString('hex')}`;
  const credential = { ...apiKeyRequest, name: `acme-${values.length}`, retention: 'lasting' } as const;
  const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
  expect(await acceptWith(raw, elicitationId, { api_key: value })).toMatchObject({ status: 303 });
  const { credentialId = '' } = (await world.api.read(elicitationId)).body.outcome ?? {};
  values.push({ read: api => api.credential(credentialId), body: { values: { api_key: value } } });
}

const keyAt = {
  file: { kid: 'file', key: fileKey },
  transit: { kid: 'transit', service: 'vault-transit', key: 'postern', url: transit.url, token: transit.token },
  kms: { kid: 'kms', service: 'aws-kms', key: arn },
} satisfies Record<Place, VaultKeys[number]>;

const vaultWith = (...places: Place[]): GatewayConfigInput['vault'] => ({
  keys: places.map(place => keyAt[place]),
  transactionKey,
  keyServices: { timeoutSeconds: 10 },
});

const jwksSchema = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) });
const receiptKeysAt = async (gateway: Gateway | undefined) =>
  jwksSchema.parse(await (await fetch(`${gateway?.address}/.well-known/jwks.json`)).json()).keys;

/** The configuration of the world, with these keys. */
const configWith = (...places: Place[]): GatewayConfigInput => ({
  ...world.config,
  vault: vaultWith(...places),
  ...(receipts && { receipts }),
});

async function configFile(...places: Place[]): Promise<string> {
  const path = join(folder, `${places.join('-')}.yaml`);
  await writeFile(path, JSON.stringify(configWith(...places)), {
    mode: 0o600,
  });
  return path;
}

/** Runs a command with a configuration that has these keys. */
const run = async (places: Place | readonly Place[], ...args: readonly string[]) =>
  runCommand([...args, '-c', await configFile(...[places].flat())]);

async function counted(...places: Place[]): Promise<Readonly<Record<string, number>>> {
  const { code, out } = await run(places, 'vault', 'status', '--json');
  expect(code).toBe(0);
  const { keys } = statusSchema.parse(JSON.parse(out));
  return Object.fromEntries(
    keys.map(({ kid, counts }) => [kid, Object.values(counts).reduce((sum, count) => sum + count, 0)]),
  );
}

/** Another replica, with these keys and no content keys in memory. It can read everything and store new values. */
async function replicaWith(...places: Place[]): Promise<Gateway & { readonly raw: RawBrowser }> {
  const input = { ...configWith(...places), listen: { host: '127.0.0.1', port: 0 } };
  const gateway = await startGateway(parseConfig(input), { logger: createLogger({ level: 'silent' }) });
  const raw = createRawBrowser({ address: gateway.address, publicUrl: world.publicUrl });
  for (const [name, value] of browser.cookies) raw.cookies.set(name, value);
  return Object.assign(gateway, { raw });
}

async function readEverything(...gateways: readonly Gateway[]): Promise<void> {
  for (const { address } of gateways) {
    const answers = await Promise.all(values.map(({ read }) => read(createApi(address, apiKey))));
    expect(answers.map(({ status, body }) => ({ status, body }))).toMatchObject(
      values.map(({ body }) => ({ status: 200, body })),
    );
  }
}

/** `postern vault rewrap` as a process of its own. */
async function startRewrap(...places: Place[]) {
  const args = [postern, 'vault', 'rewrap', '--reason', 'rotation', '-c', await configFile(...places)];
  const env = { ...process.env, ...(await compiledGateway()) };
  return spawn(...endingWithParent(process.execPath, args), { env, stdio: 'ignore' });
}

describe('S159: rotation on the command line, with replicas before and after each step', () => {
  it.each<[Place, Place]>([
    ['file', 'transit'],
    ['transit', 'kms'],
    ['kms', 'file'],
    ['file', 'kms'],
    ['kms', 'transit'],
    ['transit', 'file'],
  ])('from %s to %s loses no value, also when the command is killed', async (old, next) => {
    const service = next === 'file' ? serviceOf(old) : serviceOf(next);
    await using before = await replicaWith(old);
    await using second = await replicaWith(old, next);
    await store(before, before.raw);
    await store(second, second.raw);
    await using first = await replicaWith(next, old);
    await store(first, first.raw);
    await readEverything(second, first);
    const all = values.length + 1; // and the API key
    expect(await counted(next, old)).toEqual({ [next]: 1, [old]: all - 1 });

    const killed = await startRewrap(next, old);
    service.atRequest(killedAt(next), () => killed.kill('SIGKILL'));
    expect(await once(killed, 'exit')).toEqual([null, 'SIGKILL']);
    const halfWay = await counted(next, old);
    expect(halfWay[next]).toBeGreaterThan(1);
    expect(halfWay[old]).toBeGreaterThan(0);
    await readEverything(second);

    const again = await startRewrap(next, old);
    const ended = once(again, 'exit');
    const { promise: isRead, resolve, reject } = Promise.withResolvers<void>();
    service.atRequest(3, () => readEverything(first).then(resolve, reject));
    expect(await ended).toEqual([0, null]);
    await isRead;
    expect(await counted(next, old)).toEqual({ [next]: all, [old]: 0 });
    await using after = await replicaWith(next);
    await readEverything(second, after);
    expect((await receiptKeysAt(after)).map(({ kid }) => kid)).toEqual(['receipts-1', 'file']);
  });
});
