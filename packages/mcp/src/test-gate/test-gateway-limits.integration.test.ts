import { join } from 'node:path';
import { problemSchema } from '@postern/api';
import { expect, test } from 'vitest';
import { refusalText } from '../errors.ts';
import { startTestGateway } from './index.ts';

const program = join(import.meta.dirname, '../../../../services/gateway/src/postern.ts');

test('S215: a test gateway makes no test wait, except for a limit of the test, which the refusal names', async () => {
  const open = 32;
  await using gateway = await startTestGateway({
    command: [process.execPath, program, 'start'],
    limits: { openElicitationsPerSubject: open },
  });
  const { url, apiKey, subject } = gateway.options;
  const issue = (nth: number) =>
    fetch(`${url}/v1/elicitations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'confirmation', subject, confirmation: { title: `Step ${nth}` } }),
    });
  // More than the defaults of other gateways: 30 in ten minutes, 20 open.
  for (let nth = 0; nth < open; nth += 1) expect((await issue(nth)).status).toBe(201);
  const refused = await issue(open);
  expect(refused.status).toBe(429);
  expect(refusalText(problemSchema.parse(await refused.json()))).toMatch(
    /\b32 .+mcpServers\[\]\.limits\.openElicitationsPerSubject.+\/me\b/,
  );
}, 120_000);
