import { describe, expect, test } from 'vitest';
import { type HttpWorldOptions, startHttp } from '../testing/http-world.ts';
import { callOf, MODERN } from '../testing/wire-world.ts';

/** No rule asks anybody, so there is no gateway. */
const start = (rules: HttpWorldOptions['rules'] = { default: 'pass' }) =>
  startHttp({ rules, gate: { check: false, onBackgroundError() {} } });

const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'read' };

describe('an error is the response to its request', () => {
  test.each([
    ['method', { 'mcp-method': 'tools/list' }],
    ['tool', { 'mcp-name': 'write' }],
  ])('whose header has another %s', async (_, other) => {
    await using world = await start();
    const response = await world.post(callOf(7, 'read', {}, { _meta: MODERN }), { ...headers, ...other });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32020 } });
    expect(world.requests.count).toBe(0);
  });

  test('that reaches no upstream', async () => {
    await using world = await start();
    await world.stopUpstream();
    const response = await world.post(callOf(7, 'read', {}, { _meta: MODERN }), headers);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ id: 7, error: { code: -32603 } });
  });
});
