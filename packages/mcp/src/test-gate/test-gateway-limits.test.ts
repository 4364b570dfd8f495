import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEnvironment } from '../gate/environment.ts';
import { startTestGateway } from './index.ts';

const program = join(import.meta.dirname, '../../../../services/gateway/src/postern.ts');

test('S215: a test gateway makes no test wait, except for a limit of the test, which the refusal names', async () => {
  const open = 32;
  await using gateway = await startTestGateway({
    command: [process.execPath, program, 'start'],
    limits: { openElicitationsPerSubject: open },
  });
  const { url, apiKey, subject } = gateway.options;
  const { client } = createEnvironment({ url, apiKey, check: false });
  const issue = (nth: number) =>
    client.issue({ kind: 'confirmation', subject, confirmation: { title: `Step ${nth}` } });
  // More than the defaults of other gateways: 30 in ten minutes, 20 open.
  for (let nth = 0; nth < open; nth += 1) expect((await issue(nth)).status).toBe('pending');
  await expect(issue(open)).rejects.toMatchObject({
    httpStatus: 429,
    message: expect.stringMatching(/\b32 .+mcpServers\[\]\.limits\.openElicitationsPerSubject.+\/me\b/),
  });
}, 120_000);
