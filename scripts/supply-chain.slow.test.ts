import { expect, test } from 'vitest';
import { isAllowed, licenceOf, readSbom } from './supply-chain.ts';

test.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0-only)', true],
  ['GPL-3.0-only OR AGPL-3.0-only', false],
  ['MIT AND GPL-2.0-only', false],
  ['', false],
  ['UNLICENSED', false],
])('the licence %j may be shipped: %s', (expression, expected) => {
  expect(isAllowed(expression)).toBe(expected);
});

test('the SBOM lists the run-time packages of the gateway with their licences, and no test packages', async () => {
  const { components } = await readSbom();
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['fastify', 'ioredis', 'jose', 'openid-client', 'bullmq', 're2js']));
  expect(names.filter(name => /^(?:vitest|playwright-core|fast-check|oidc-provider|typescript)$/.test(name))).toEqual(
    [],
  );
  expect(components.filter(each => !isAllowed(licenceOf(each)))).toEqual([]);
});
