/** Measures sealing and opening on this machine: `pnpm --filter @postern/vault measure`. Not a test. */
import { randomBytes } from 'node:crypto';
import { createKeyRing, createVault } from '../index.ts';

const ROUNDS = 5;
const CALLS = 4_000;
const context = {
  purpose: 'connection',
  kind: 'authorization',
  mcpServer: 'issue-tracker',
  elicitation: `el_7f${'x'.repeat(43)}`,
  issuer: 'https://id.example.com',
  subject: '248289761001',
  provider: 'github',
};

const [old, fresh] = [
  { kid: 'old', key: randomBytes(32) },
  { kid: 'new', key: randomBytes(32) },
];
const before = createVault(createKeyRing([old]));
const after = createVault(createKeyRing([fresh, old]));

async function measure(name: string, call: () => Promise<unknown>, parallel: number): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    for (let at = 0; at < CALLS; at += parallel) await Promise.all(Array.from({ length: parallel }, call));
    times.push(((performance.now() - start) * 1000) / CALLS);
  }
  const median = times.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
  process.stdout.write(`${name.padEnd(44)} ${median.toFixed(0).padStart(5)} µs\n`);
}

for (const bytes of [200, 4_000]) {
  const tokens = randomBytes(bytes / 2).toString('hex');
  const sealed = await before.seal(tokens, context);
  for (const parallel of [1, 32]) {
    const suffix = `${bytes} bytes, ${parallel} at a time`;
    await measure(`seal   ${suffix}`, () => before.seal(tokens, context), parallel);
    await measure(`open   ${suffix}`, () => before.open(sealed, context), parallel);
    await measure(`reseal ${suffix}`, () => after.reseal(sealed, context), parallel);
  }
}
