import type { Connection } from '@postern/elicitation';
import { expect, it, vi } from 'vitest';
import type { TokenRefresh } from './authorization/token-refresh.ts';
import { createObservation } from './observation.ts';
import { createLogger } from './platform/logger.ts';

it('a refresh that is observed keeps what its caller knows of the token', async () => {
  const observe = await createObservation(
    { metrics: undefined, telemetry: undefined },
    createLogger({ level: 'silent' }),
  );
  using _ = observe.channels;
  const refresh = vi.fn<TokenRefresh['refresh']>(async () => ({ result: 'changed' }));
  const seen: unknown[] = [];
  observe.channels.step.subscribe({ end: (call, { result }) => seen.push([call, result]) });
  const connection = { provider: 'forge' } as Connection;
  await observe
    .tokenRefresh({ refresh, isInProgress: () => false, drain: async () => undefined, leaseMs: 1 })
    .refresh(connection, true);
  expect(refresh).toHaveBeenCalledExactlyOnceWith(connection, true);
  const call = { name: 'token refresh', attributes: { 'postern.provider': 'forge' } };
  expect(seen).toEqual([[call, { result: 'changed' }]]);
});
