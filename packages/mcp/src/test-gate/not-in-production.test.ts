import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

test.each(['./index.ts', './v1.ts'])('S96: %s does not load with NODE_ENV=production', async path => {
  vi.stubEnv('NODE_ENV', 'production');
  await expect(import(path)).rejects.toMatchObject({ code: 'testing_in_production' });
});
