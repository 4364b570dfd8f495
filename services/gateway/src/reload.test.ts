import { StoreUnavailableError } from '@postern/elicitation';
import { expect, test, vi } from 'vitest';
import { parseConfig } from './platform/config/load-config.ts';
import { createReloader } from './reload.ts';
import { sampleConfig } from './testing/sample-config.ts';

test('an error after the switch is never reported as a refusal, because the new configuration is served', async () => {
  const input = sampleConfig();
  let running = parseConfig(input);
  const next = parseConfig({ ...input, limits: { pageRequestsPerMinute: 7 } });
  const logger = { info: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const reloader = createReloader({
    logger,
    metrics: undefined,
    stopping: { draining: new AbortController().signal },
    running: () => running,
    prepare: async config => config,
    async commit(config) {
      running = config;
      throw new StoreUnavailableError();
    },
  });
  await expect(reloader.reload(() => next)).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(logger.error.mock.calls.map(([{ event }]) => event)).toEqual(['config.reload_failed']);
  expect(await reloader.reload(() => next)).toEqual({ result: 'unchanged' });
});
