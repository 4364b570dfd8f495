import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Registry } from 'prom-client';
import { afterAll, describe, expect, it } from 'vitest';
import { createChannels } from '../call-channels.ts';
import { UnidentifiedBytes } from '../http/unknown-callers.ts';
import { createMetrics } from './create-metrics.ts';
import { startMetricsListener } from './metrics-listener.ts';

const local = {
  host: '127.0.0.1',
  port: 0,
  registry: new Registry(),
  ready: async () => ({ writes: true }),
  allowedHosts: ['scraped.example'],
  addressOf: () => '127.0.0.1',
  unidentified: new UnidentifiedBytes(() => {}),
};
afterAll(() => local.unidentified[Symbol.dispose]());

describe('the metrics listener', () => {
  it('serves the metrics of the registry in the text format', async () => {
    using channels = createChannels({ error: () => {} });
    const { registry } = createMetrics(channels);
    channels.store.open({ command: 'createElicitation' })();
    await using listener = await startMetricsListener({ ...local, registry });
    const response = await fetch(`${listener.address}/metrics`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text).toContain('postern_redis_command_duration_seconds_count{command="createElicitation"} 1\n');
    expect(text).toMatch(/^postern_build_info\{version="\d+\.\d+\.\d+",node="v\d+\.\d+\.\d+"\} 1$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });

  it('the metrics listener is always live, and ready if the gateway can serve requests', async () => {
    let isReady = false;
    const ready = async () => {
      if (!isReady) throw new Error('not yet');
      return { writes: false };
    };
    await using listener = await startMetricsListener({ ...local, ready });
    const statusOf = async (path: string) => (await fetch(`${listener.address}${path}`)).status;
    expect([await statusOf('/livez'), await statusOf('/readyz')]).toEqual([200, 503]);
    isReady = true;
    const answer = await fetch(`${listener.address}/readyz?probe=1`);
    expect([answer.status, await answer.text()]).toEqual([200, 'ready\nwrites: false\n']);
  });

  it('responds with 404 to other paths and 405 to other methods', async () => {
    await using listener = await startMetricsListener(local);
    const paths = ['/', '/v1/elicitations', '/metrics/', '/constructor', '//metrics'];
    for (const path of paths) expect((await fetch(`${listener.address}${path}`)).status, path).toBe(404);
    const posted = await fetch(`${listener.address}/metrics`, { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  });

  it('S202: refuses the host name of a web page that resolves to its address', async () => {
    await using listener = await startMetricsListener(local);
    const port = Number(new URL(listener.address).port);
    const statusOf = async (host: string) => {
      const request = get({ port, path: '/metrics', headers: { host }, agent: false });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    for (const host of ['rebound.example', 'rebound.example:9464', '127.0.0.1.rebound.example', 'a b'])
      expect(await statusOf(host), host).toBe(403);
    for (const host of [
      '127.0.0.1:9464',
      '[::1]:9464',
      '10.1.2.3',
      'localhost',
      'gateway:9464',
      'scraped.example:9464',
    ])
      expect(await statusOf(host), host).toBe(200);
  });

  it('throws a StartError if its address is in use', async () => {
    await using listener = await startMetricsListener(local);
    const port = Number(new URL(listener.address).port);
    await expect(startMetricsListener({ ...local, port })).rejects.toMatchObject({ name: 'StartError' });
  });
});
