import { countedSteps } from '@postern/elicitation';
import { describe, expect, test } from 'vitest';
import type { WebhookEndpointItem } from '../../admin/overview.ts';
import { endpointStatus } from '../shown-records.ts';
import { overviewPage } from './overview.ts';
import { endpointActs } from './webhooks.ts';

const endpoint: WebhookEndpointItem = {
  endpoint: 'tracker.hook',
  host: 'hooks.example.com',
  status: 'enabled',
  waiting: 0,
  underWay: 0,
  delayed: 0,
  dead: 0,
  reason: undefined,
  disabledAt: undefined,
  failingSince: undefined,
};
const failingSince = '2026-11-28T00:00:00.000Z';

describe('S209: nothing that fails is green', () => {
  test.each([
    [{}, 'enabled'],
    [{ delayed: 1 }, 'retrying'],
    [{ failingSince }, 'retrying'],
    [{ delayed: 51, dead: 1 }, 'undelivered'],
    [{ dead: 1, status: 'disabled', reason: 'gone' }, 'disabled'],
  ] as const)('an endpoint with %j is %s', (change, expected) => {
    expect(endpointStatus({ ...endpoint, ...change })).toBe(expected);
  });

  test('an endpoint of the operator has a slash in its name, and none in the path of an act', () => {
    const acts = `${endpointActs({ ...endpoint, endpoint: 'operator/ops', status: 'disabled', dead: 1 })}`;
    expect([...acts.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual([
      '/webhooks/operator%2Fops/enable',
      '/webhooks/operator%2Fops/redeliver',
    ]);
  });

  const at = '2026-11-28T01:00:00.000Z';
  interface Seen {
    readonly webhooks?: readonly WebhookEndpointItem[];
    readonly refusals?: readonly string[];
    readonly postponedAt?: string;
  }
  function pageOf({ webhooks = [], refusals = [], postponedAt }: Seen): string {
    const page = { stylesheetPath: '/a.css', name: 'Vera', role: 'viewer', csrfToken: 'x' } as const;
    const refreshes =
      postponedAt === undefined
        ? []
        : [{ provider: 'github', at: postponedAt, outcome: 'postponed' as const, code: 'refused', count: 1 }];
    return overviewPage(page, {
      range: 'day',
      at,
      places: ['2026-11-28T00:00:00.000Z', at],
      counts: { by: 'hour', order: countedSteps, steps: [], decisions: [], refreshes },
      health: {
        version: '1',
        redis: { isReachable: true, refusals: [...refusals] },
        webhooks: [...webhooks],
        records: { open: 0, ended: 0, connections: 0, credentials: 0, revocations: 0 },
        storage: [],
        providers: [{ provider: 'github', pausedMs: undefined }],
        vaultKeys: [],
        receiptKeys: [],
        apiKeys: { valid: 0, oldest: [] },
      },
    });
  }
  const toneOf = (page: string, word: string) => new RegExp(`class="status (\\w+)">(?:<bdi>)?${word}<`).exec(page)?.[1];

  test('a tile with retrying, dead or disabled webhooks has their colour, and Redis that refuses writes is not connected', () => {
    const tiles = (webhooks: readonly WebhookEndpointItem[], refusals: readonly string[] = []) =>
      /<dl class="tiles">.*?<\/dl>/s.exec(pageOf({ webhooks, refusals }))?.[0] ?? '';
    expect(tiles([endpoint])).not.toMatch(/status (busy|bad)/);
    expect(toneOf(tiles([{ ...endpoint, delayed: 51 }]), '51')).toBe('busy');
    expect(toneOf(tiles([{ ...endpoint, dead: 3 }]), '3')).toBe('bad');
    expect(toneOf(tiles([{ ...endpoint, status: 'disabled' }]), '1')).toBe('bad');
    expect(toneOf(tiles([endpoint]), 'connected')).toBe('good');
    expect(toneOf(tiles([endpoint], ['aof_off']), 'refusing')).toBe('bad');
  });

  test('a provider whose refreshes fail now is not green', () => {
    expect(toneOf(pageOf({}), 'sent')).toBe('good');
    expect(toneOf(pageOf({ postponedAt: '2026-11-28T00:00:00.000Z' }), 'sent')).toBe('good');
    expect(toneOf(pageOf({ postponedAt: at }), 'failing')).toBe('busy');
  });
});
