import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { refundRequestSchema, verifyElicitationSchema, webhookEventSchema } from '@postern/api';
import { createReceiptVerifier } from '@postern/mcp';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { blocksIn, type DocBlock, docBlocks, readDocument, titleOf } from './support/doc-blocks.ts';

/** Blocks that are neither code nor data, by their first line, each with a reason. */
const texts: readonly (readonly [document: string, firstLine: RegExp, what: string])[] = [
  ['CONTRIBUTING.md', /^ *tools, test /, 'a diagram; scripts/architecture.test.ts holds it'],
  ['docs/events.md', /^retry: 2000$/, 'a stream of events; checked below'],
  ['docs/key-services.md', /^path "transit/, 'a policy of Vault, which no test runs'],
  ['docs/providers.md', /^\{publicUrl\}\/callback\/\{mcpServerId\}\/\{name\}$/, 'a pattern of URLs'],
  ['docs/receipts.md', /^eyJ/, 'a receipt; verified below'],
];
const exercised = [
  'ts',
  'typescript',
  'js',
  'mjs',
  'javascript',
  'sh',
  'bash',
  'console',
  'yaml',
  'json',
  'http',
  'python',
  'acl',
  'dockerfile',
];

test('every code block has a tested language or is a listed text', () => {
  const strangers = docBlocks.filter(
    ({ document, language, body }) =>
      !exercised.includes(language) &&
      !(
        language === 'text' &&
        texts.some(([path, firstLine]) => path === document && firstLine.test(body.split('\n')[0] ?? ''))
      ),
  );
  expect(strangers.map(block => `${titleOf(block)} [${block.language}]`)).toEqual([]);
});

/** The only block of a document in this language, or the only one that matches. */
function blockOf(document: string, language: string, pattern = /^/): DocBlock {
  const found = docBlocks.filter(
    block => block.document === document && block.language === language && pattern.test(block.body),
  );
  const [block, ...more] = found;
  if (block === undefined || more.length > 0) throw new Error(`${found.length} such blocks in ${document}`);
  return block;
}

/** Runs statements without their imports, with these predefined names, and returns the value of `result`. */
async function run(body: string, scope: Readonly<Record<string, unknown>>, result: string): Promise<unknown> {
  const code = body.replaceAll(/^import .*$/gm, '');
  const make = new Function(...Object.keys(scope), `return (async () => { ${code}\nreturn ${result}; })()`);
  return make(...Object.values(scope));
}

describe('docs/receipts.md', () => {
  const keys = z
    .object({ keys: z.array(z.looseObject({ kty: z.string() })) })
    .parse(JSON.parse(blockOf('docs/receipts.md', 'json', /"keys"/).body));
  const claims = z
    .looseObject({ iat: z.number() })
    .parse(JSON.parse(blockOf('docs/receipts.md', 'json', /"approval"/).body));
  const receipt = blockOf('docs/receipts.md', 'text').body.replaceAll(/\s/g, '');

  test('the header matches the receipt’s', () => {
    const header = JSON.parse(blockOf('docs/receipts.md', 'json', /"typ"/).body);
    expect(JSON.parse(Buffer.from(receipt.split('.')[0] ?? '', 'base64url').toString())).toEqual(header);
  });

  test('the TypeScript example verifies the receipt before its expiry', async () => {
    const verifierThen = (options: Parameters<typeof createReceiptVerifier>[0]) =>
      createReceiptVerifier({ ...options, now: () => (claims.iat + 1) * 1000 });
    const { body } = blockOf('docs/receipts.md', 'ts');
    const scope = { createReceiptVerifier: verifierThen, keys, receipt };
    expect(await run(body, scope, '({ terms, sub_id })')).toEqual({ terms: claims['terms'], sub_id: claims['sub_id'] });
    await expect(run(body, { ...scope, receipt: `${receipt.slice(0, -4)}AAAA` }, 'terms')).rejects.toThrow();
  });

  test('the Python example is unchanged, and runs if Python has cryptography', async () => {
    const { body } = blockOf('docs/receipts.md', 'python');
    const python = (code: string) => promisify(execFile)('python3', ['-c', code]);
    // Not every machine has Python: run a changed example on one that has it before you update this digest.
    expect(createHash('sha256').update(body).digest('hex')).toBe(PYTHON_EXAMPLE_AS_RUN);
    const hasCryptography = await python('import cryptography').then(
      () => true,
      () => false,
    );
    if (!hasCryptography) return;
    const call = `print(json.dumps(verify(*json.loads('''${JSON.stringify([receipt, claims['iss'], claims['aud'], keys])}'''))))`;
    expect(JSON.parse((await python(`${body}\n${call}`)).stdout)).toEqual(claims);
  });
});

const PYTHON_EXAMPLE_AS_RUN = '85303be7c913d86db24f2ac1dc86f911be09392bdbed74e8060f531767198735';

describe('docs/webhooks.md', () => {
  const { body: example } = blockOf('docs/webhooks.md', 'http');
  const [head = '', payload = ''] = example.split('\n\n');
  const headers = Object.fromEntries(
    head
      .split('\n')
      .slice(1)
      .map(line => line.split(': ')),
  );

  test('the JavaScript example accepts a signed webhook and rejects others', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const now = new Date();
    const signature = new Webhook(secret).sign(headers['webhook-id'], now, payload);
    const signed = {
      ...headers,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': `${signature} v1a,other`,
    };
    const { body } = blockOf('docs/webhooks.md', 'js');
    const scope = { Webhook, secret, rawBody: payload, request: { headers: signed } };
    expect(await run(body, scope, 'event')).toEqual(JSON.parse(payload));
    await expect(run(body, { ...scope, rawBody: `${payload} ` }, 'event')).rejects.toThrow();
  });

  test('the request has the headers and the payload of the contract', () => {
    expect(Object.keys(headers).sort()).toEqual([
      'content-type',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
    ]);
    const body = webhookEventSchema.parse(JSON.parse(payload));
    expect(body).toEqual(JSON.parse(payload));
    const { type, data } = body;
    expect(type).toBe(`elicitation.${data.status}`);
    expect(headers['webhook-id']).toBe(data.eventId);
  });
});

const eventMembers = {
  eventId: z.string().startsWith('ev_'),
  elicitationId: z.string().startsWith('el_'),
  kind: z.enum(['authorization', 'payment', 'credential', 'confirmation', 'form']),
};

test('the event in docs/events.md matches the contract', () => {
  const lines = blockOf('docs/events.md', 'text').body.split('\n');
  const data = lines.find(line => line.startsWith('data: '))?.slice('data: '.length) ?? '';
  const event = z
    .strictObject({ type: z.string(), occurredAt: z.iso.datetime(), ...eventMembers })
    .parse(JSON.parse(data));
  expect(lines).toContain(`event: ${event.type}`);
});

test('the API accepts the request in docs/identity-modes.md', () => {
  const [head = '', body = ''] = blockOf('docs/identity-modes.md', 'http').body.split('\n\n');
  expect(head).toMatch(/^POST \/v1\/elicitations\/\{elicitationId\}\/verify\nAuthorization: Bearer /);
  const example = { ...JSON.parse(body), verificationId: randomBytes(16).toString('base64url') };
  expect(verifyElicitationSchema.safeParse(example).error?.issues).toBeUndefined();
});

test('the API accepts the request in docs/payments.md', () => {
  const [head = '', body = ''] = blockOf('docs/payments.md', 'http').body.split('\n\n');
  expect(head).toMatch(/^POST \/v1\/payments\/el_\S+\/refunds HTTP\/1\.1\nauthorization: Bearer .+\nidempotency-key: /);
  expect(refundRequestSchema.safeParse(JSON.parse(body)).error?.issues).toBeUndefined();
});

test('every acl block is in the shipped users file', () => {
  const shipped = readDocument('infra/redis/users.acl').split('\n');
  const lines = blocksIn('acl').flatMap(({ body }) => body.split('\n'));
  expect(lines.filter(line => line !== '' && !shipped.includes(line))).toEqual([]);
});

test('every json block is JSON, and every http block is tested above or only has headers', () => {
  for (const { body } of blocksIn('json')) expect(() => JSON.parse(body)).not.toThrow();
  const others = blocksIn('http').filter(({ body }) => !/^POST /.test(body));
  expect(others.flatMap(({ body }) => body.split('\n')).filter(line => !/^[A-Za-z-]+: \S/.test(line))).toEqual([]);
  const requests = blocksIn('http').filter(({ body }) => /^POST /.test(body));
  expect(requests.map(({ document }) => document)).toEqual([
    'docs/identity-modes.md',
    'docs/payments.md',
    'docs/webhooks.md',
  ]);
});
