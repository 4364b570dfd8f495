import { StoreUnavailableError } from '@postern/elicitation';
import { expect, test, vi } from 'vitest';
import { parseConfig } from './platform/config/load-config.ts';
import { createReloader } from './reload.ts';
import { sampleConfig } from './testing/sample-config.ts';

function stage() {
  const input = sampleConfig();
  const running = parseConfig(input);
  const next = parseConfig({ ...input, limits: { pageRequestsPerMinute: 7 } });
  const logger = { info: vi.fn(), error: vi.fn(), debug: vi.fn() };
  const draining = new AbortController();
  const parts = { draining, close: vi.fn(async () => {}), commit: vi.fn(), prepare: vi.fn(async () => {}) };
  const reloader = createReloader({
    logger,
    metrics: undefined,
    stopping: { draining: draining.signal },
    running: () => running,
    async prepare() {
      await parts.prepare();
      return { close: parts.close };
    },
    commit: parts.commit,
  });
  return { ...parts, logger, reload: () => reloader.reload(() => next) };
}

test('a configuration that cannot be prepared is refused, and nothing of it is in force', async () => {
  const { prepare, commit, logger, reload } = stage();
  prepare.mockRejectedValueOnce(new StoreUnavailableError());
  expect(await reload()).toMatchObject({ result: 'refused' });
  expect(commit).not.toHaveBeenCalled();
  expect(logger.error.mock.calls.map(([{ event }]) => event)).toEqual(['config.refused']);
  expect(await reload()).toMatchObject({ result: 'reloaded' });
});

test('a process that begins to stop closes what it has prepared', async () => {
  const { prepare, close, commit, draining, reload } = stage();
  prepare.mockImplementationOnce(async () => draining.abort());
  expect(await reload()).toEqual({ result: 'stopping' });
  expect(close).toHaveBeenCalledOnce();
  expect(commit).not.toHaveBeenCalled();
});
