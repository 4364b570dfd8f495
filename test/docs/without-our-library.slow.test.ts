/** The commands and messages of docs/without-our-library.md, as a reader uses them. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  CallToolResultSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestURLParamsSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { callerSchema, elicitationSchema, redeemedElicitationSchema } from '@postern/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { findProgram } from '../../scripts/setup.mjs';
import { acceptWith, visitorFor } from '../support/asks.ts';
import { keyOf, startWorld, type World } from '../support/world.ts';
import { blocksIn } from './support/doc-blocks.ts';

const ours = ({ document }: { document: string }) => document === 'docs/without-our-library.md';
/** The last command starts the Python example, which test/python runs. */
const commands = blocksIn('sh')
  .filter(ours)
  .map(({ body }) => body)
  .filter(body => !/ python3 docs\/python\/mcp_server\.py$/.test(body));
const messages = blocksIn('json')
  .filter(ours)
  .map(({ body }) => JSON.parse(body) as unknown);
const SEPARATOR = '--- next block ---';

let world: World;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postern-curl-'));
  world = await startWorld();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

const hasCurl = findProgram('curl') !== undefined;
test.skipIf(!hasCurl)(
  `the commands issue, wait, redeem and cancel${hasCurl ? '' : ' (not here: no curl)'}`,
  async () => {
    const user = world.subject();
    const script = ['set -euo pipefail', commands.join(`\necho; echo '${SEPARATOR}'\n`)].join('\n');
    const running = promisify(execFile)('bash', ['--norc', '-c', script], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        POSTERN_URL: world.gateways[0]?.address,
        POSTERN_API_KEY: keyOf('tracker'),
        ISSUER: world.identityProvider.issuer,
        SUBJECT: user,
      },
    });
    // The user decides while the third command waits.
    const issued = async () => {
      const { elicitationId } = elicitationSchema.parse(
        JSON.parse(await readFile(join(folder, 'issued.json'), 'utf8')),
      );
      const raw = await visitorFor(world, user, elicitationId);
      expect((await acceptWith(raw, elicitationId)).status).toBe(303);
      return elicitationId;
    };
    const isIssued = () =>
      readFile(join(folder, 'issued.json'), 'utf8').then(
        text => text.endsWith('}'),
        () => false,
      );
    await Promise.race([running, expect.poll(isIssued).toBe(true)]);
    const elicitationId = await issued();

    const { stdout, stderr } = await running;
    expect(stderr).toBe('');
    const outputs = stdout.split(SEPARATOR).map(output => output.trim());
    const [me = '', created = '', named = '', read = '', redeemed = '', cancelled = ''] = outputs;
    expect(outputs.length).toBe(6);
    expect(callerSchema.parse(JSON.parse(me)).mcpServerId).toBe('tracker');
    expect(elicitationSchema.parse(JSON.parse(created))).toMatchObject({ elicitationId, status: 'pending' });
    expect(named).toBe('');
    expect(elicitationSchema.parse(JSON.parse(read))).toMatchObject({ elicitationId, status: 'completed' });
    expect(redeemedElicitationSchema.parse(JSON.parse(redeemed))).toMatchObject({
      elicitationId,
      kind: 'confirmation',
    });
    expect(cancelled).toBe('409');
  },
);

test('the messages are those of the protocol', () => {
  const [modern, legacy, notice, plain] = messages;
  expect(messages.length).toBe(4);
  const url = z.strictObject({ mode: z.literal('url'), url: z.url(), message: z.string() });
  z.strictObject({
    resultType: z.literal('input_required'),
    inputRequests: z.record(z.string(), z.strictObject({ method: z.literal('elicitation/create'), params: url })),
    requestState: z.string(),
  }).parse(modern);
  const data = z.strictObject({ elicitations: z.array(ElicitRequestURLParamsSchema).min(1) });
  z.strictObject({ code: z.literal(-32042), message: z.string(), data }).parse(legacy);
  ElicitationCompleteNotificationSchema.parse(notice);
  CallToolResultSchema.parse(plain);
});
