import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatedEndpoint, startGatedEndpoint } from '../support/gated-endpoint.ts';
import { modernCall, urlRequestOf } from '../support/modern-call.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { askFor, startWorld, type World } from '../support/world.ts';

let receiver: OtlpReceiver;
let world: World;
let endpoint: GatedEndpoint;
let webhookReceiver: WebhookReceiver;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  webhookReceiver = await startWebhookReceiver();
  world = await startWorld({
    config: { telemetry: { otlpEndpoint: receiver.url } },
    mcpServer: { webhooks: [{ id: 'ends', url: webhookReceiver.url, secrets: [webhookReceiver.secret] }] },
  });
  endpoint = await startGatedEndpoint(world, { postern: { holdMs: 0 } });
});
afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await webhookReceiver?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
});

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const meta = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: 'vendor=1' };

/** The matching spans, once one has arrived. */
async function arrived(fits: (span: ReceivedSpan) => boolean): Promise<readonly ReceivedSpan[]> {
  await expect.poll(() => receiver.spans.some(fits)).toBe(true);
  return receiver.spans.filter(fits);
}

describe('the traces of one elicitation', () => {
  it('lead from the MCP request through API, pages and provider to the token', async () => {
    const subject = world.subject();
    const first = await modernCall(endpoint.url, { tool: 'connect', subject, meta });
    const { url, key, requestState } = urlRequestOf(first);
    const elicitationId = elicitationIdOf(url);
    await connectAccount(world.raw(), elicitationId, subject);
    const inputResponses = { [key]: { action: 'accept' } };
    const done = await modernCall(endpoint.url, { tool: 'connect', subject, meta, requestState, inputResponses });
    expect(done.text).toBe('accept alice');

    // The trace of the MCP client: both of its requests, the resulting gateway calls, and their internal spans.
    await arrived(({ name }) => name === 'POST /v1/connections/:connectionId/access-token');
    const ofClient = receiver.spans.filter(({ traceId }) => traceId === TRACE_ID);
    const issued = ofClient.find(({ name }) => name === 'POST /v1/elicitations');
    expect(issued).toMatchObject({
      parentSpanId: SPAN_ID,
      attributes: {
        'postern.surface': 'api',
        'postern.mcp_server_id': 'tracker',
        'http.response.status_code': '201',
        'http.route': '/v1/elicitations',
      },
    });
    const verb = ofClient.find(({ name }) => name === 'elicitation.issue');
    expect(verb).toMatchObject({
      parentSpanId: issued?.spanId,
      attributes: { 'postern.elicitation_id': elicitationId },
    });
    expect(ofClient.find(({ name }) => name === 'redis createElicitation')).toMatchObject({
      parentSpanId: verb?.spanId,
    });
    expect(ofClient.map(({ name }) => name)).toContain('POST /v1/connections/:connectionId/access-token');

    // The user's requests are separate traces. Those about the elicitation link to its issue request.
    const pages = await arrived(
      ({ name, attributes }) =>
        name.endsWith('/e/:elicitationId/accept') && attributes['postern.elicitation_id'] === elicitationId,
    );
    for (const page of pages) {
      expect(page.traceId).not.toBe(TRACE_ID);
      expect(page.links).toMatchObject([{ traceId: TRACE_ID, spanId: verb?.spanId }]);
    }
    const [callback] = await arrived(({ name }) => name === 'GET /callback/:mcpServerId/:provider');
    expect(callback?.links).toMatchObject([{ traceId: TRACE_ID, spanId: verb?.spanId }]);

    // The code exchange belongs to the trace of the callback request.
    const ofCallback = receiver.spans.filter(({ traceId }) => traceId === callback?.traceId);
    expect(ofCallback.find(({ name }) => name === 'POST provider')?.attributes).toMatchObject({
      'server.address': new URL(world.provider.issuer).hostname,
      'http.response.status_code': '200',
      'postern.target': 'provider',
    });
    expect(ofCallback.map(({ name }) => name)).toContain('redis transitionElicitation');
  });

  it('start anew for a caller without a valid trace context and for every browser', async () => {
    const ask = () => askFor(world, world.subject());
    const hostile = [
      meta.traceparent.toUpperCase(),
      `${meta.traceparent}-x`,
      `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
      'x',
    ];
    const ids: string[] = [];
    for (const traceparent of hostile) ids.push((await world.api.issue(ask(), { traceparent })).body.elicitationId);
    ids.push((await world.api.issue(ask())).body.elicitationId);
    for (const id of ids) {
      const [span] = await arrived(
        ({ name, attributes }) => name === 'elicitation.issue' && attributes['postern.elicitation_id'] === id,
      );
      expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(span?.traceId).not.toBe(TRACE_ID);
    }
    const [address, [id = '']] = [world.gateways[0]?.address, ids];
    await fetch(`${address}/e/${id}`, { headers: { traceparent: meta.traceparent.replace('0af7', '1af7') } });
    const pages = await arrived(
      ({ name, attributes }) => name === 'GET /e/:elicitationId' && attributes['postern.elicitation_id'] === id,
    );
    expect(pages.map(({ traceId }) => traceId.slice(0, 4))).not.toContain('1af7');
  });

  it('omit requests that the caller marked as not sampled', async () => {
    const traceparent = `00-${TRACE_ID.replace('0af7', '2af7')}-${SPAN_ID}-00`;
    const unrecorded = await world.api.issue(askFor(world, world.subject()), { traceparent });
    const { elicitationId } = (await world.api.issue(askFor(world, world.subject()))).body;
    await arrived(({ attributes }) => attributes['postern.elicitation_id'] === elicitationId);
    expect(receiver.wire()).not.toContain(unrecorded.body.elicitationId);
    expect(receiver.wire()).not.toContain('2af76519');
  });

  it('contain no spans of unauthenticated requests', async () => {
    const traceparent = meta.traceparent.replace('0af7', '3af7');
    await world.apiOf({ apiKey: 'wrong' }).call('GET', '/v1/connections', undefined, { traceparent });
    const { elicitationId } = (await world.api.issue(askFor(world, world.subject()))).body;
    await arrived(({ attributes }) => attributes['postern.elicitation_id'] === elicitationId);
    expect(receiver.wire()).not.toContain('3af76519');
  });
});

it('a webhook has its own trace with a link to the issue request', async () => {
  const { elicitationId } = (await world.api.issue(askFor(world, world.subject()))).body;
  await world.api.cancel(elicitationId);
  const about = (wanted: string) => (span: ReceivedSpan) =>
    span.name === wanted && span.attributes['postern.elicitation_id'] === elicitationId;
  const [attempt] = await arrived(about('webhook'));
  const [issued] = await arrived(about('elicitation.issue'));
  expect(attempt?.attributes).toMatchObject({ 'postern.endpoint': 'tracker.ends' });
  expect(attempt?.links).toMatchObject([{ traceId: issued?.traceId, spanId: issued?.spanId }]);
  expect(attempt?.traceId).not.toBe(issued?.traceId);
  const [request] = await arrived(
    ({ name, parentSpanId }) => name === 'POST webhook' && parentSpanId === attempt?.spanId,
  );
  expect(request?.attributes).toMatchObject({
    'http.response.status_code': '204',
    'server.address': '127.0.0.1',
  });
});

it('S53: no span contains a user, a query, a code, a token or a cookie', async () => {
  const subject = world.subject();
  const { elicitationId } = await world.ask(subject);
  const browser = world.raw();
  await connectAccount(browser, elicitationId, subject);
  const { body } = await world.api.read(elicitationId);
  const token = await world.api.accessToken(body.outcome?.connectionId ?? '');
  await arrived(
    ({ name, attributes }) =>
      name === 'GET /v1/elicitations/:elicitationId' && attributes['postern.elicitation_id'] === elicitationId,
  );
  await arrived(({ name }) => name === 'POST /v1/connections/:connectionId/access-token');
  const wire = receiver.wire();
  expect(token.body.accessToken.length).toBeGreaterThan(10);
  for (const secret of [token.body.accessToken, ...browser.cookies.values(), 'only-for-tests', 'forge-client-secret'])
    expect(wire).not.toContain(secret);
  expect(wire).not.toContain(`"${subject}"`);
  expect(wire).not.toMatch(/person-\d|@example\.com|[?&](code|state|iss)=|Bearer|csrf|__Host/);
});
