import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectAccount } from '../support/person-at-gateway.ts';
import { scrape, total } from '../support/scrape.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { askFor, keyOf, startWorld, type World } from '../support/world.ts';

const until = (check: () => void) => vi.waitFor(check, { timeout: 100_000, interval: 20 });
const stack = new AsyncDisposableStack();
let world: World;
let receiver: WebhookReceiver;
let moves: WebhookReceiver;
let foreign: WebhookReceiver;
let down: WebhookReceiver;

const DELIVERIES = 'postern_webhook_deliveries';

beforeAll(async () => {
  [receiver, moves, foreign, down] = await Promise.all([
    startWebhookReceiver(),
    startWebhookReceiver(),
    startWebhookReceiver(),
    startWebhookReceiver(() => 503),
  ]);
  for (const each of [receiver, moves, foreign, down]) stack.use(each);
  world = stack.use(
    await startWorld({
      replicas: 2,
      config: { metrics: { port: 0 } },
      mcpServer: {
        webhooks: [
          { id: 'ends', url: receiver.url, secrets: [receiver.secret] },
          { id: 'moves', url: moves.url, secrets: [moves.secret], statuses: ['pending', 'active'] },
          { id: 'down', url: down.url, secrets: [down.secret], statuses: ['cancelled'] },
        ],
      },
      otherMcpServers: [{ id: 'other', webhooks: [{ id: 'ends', url: foreign.url, secrets: [foreign.secret] }] }],
    }),
  );
});
afterAll(() => stack.disposeAsync());

const toldOf = ({ received }: WebhookReceiver, elicitationId: string) =>
  received.filter(({ payload }) => payload.data.elicitationId === elicitationId);

describe('S56: webhooks of a whole gateway', () => {
  it('report the outcome of an elicitation once, without data about the user', async () => {
    const user = world.subject();
    const { elicitationId, createdAt } = await world.ask(user);
    await connectAccount(world.raw(), elicitationId, user);
    await until(() => expect(toldOf(receiver, elicitationId)).toHaveLength(1));
    const [delivery] = toldOf(receiver, elicitationId);
    expect(delivery?.payload).toMatchObject({
      type: 'elicitation.completed',
      data: {
        eventId: delivery?.id,
        elicitationId,
        kind: 'authorization',
        status: 'completed',
        mcpServerId: 'tracker',
      },
    });
    expect(Date.parse(delivery?.payload.timestamp ?? '')).toBeGreaterThanOrEqual(Date.parse(createdAt));
    expect(delivery?.body).not.toContain(user);
    expect(receiver.refused).toEqual([]);
  });

  it('send an endpoint only its configured events', async () => {
    const user = world.subject();
    const { elicitationId } = await world.ask(user);
    await connectAccount(world.raw(), elicitationId, user);
    await until(() => expect(toldOf(moves, elicitationId)).toHaveLength(2));
    expect(new Set(toldOf(moves, elicitationId).map(({ payload }) => payload.data.status))).toEqual(
      new Set(['pending', 'active']),
    );
    expect(moves.refused).toEqual([]);
  });

  it('reach only the owning MCP server, for outcomes on every replica', async () => {
    const own = await world.ask(world.subject());
    await world.apiOf({ replica: 1 }).cancel(own.elicitationId);
    const api = world.apiOf({ replica: 1, apiKey: keyOf('other') });
    const other = await api.issue(askFor(world, world.subject()));
    await world.apiOf({ apiKey: keyOf('other') }).cancel(other.body.elicitationId);
    await until(() => expect(toldOf(foreign, other.body.elicitationId)).toHaveLength(1));
    await until(() => expect(toldOf(receiver, own.elicitationId)).toHaveLength(1));
    expect(toldOf(receiver, other.body.elicitationId)).toEqual([]);
    expect(foreign.received).toHaveLength(1);
    expect(foreign.received[0]?.payload.data).toMatchObject({ status: 'cancelled', mcpServerId: 'other' });
    expect(foreign.refused).toEqual([]);
  });

  it('are counted by endpoint on every replica while a receiver fails', async () => {
    const { elicitationId } = await world.ask(world.subject());
    await world.api.cancel(elicitationId);
    for (const gateway of world.gateways)
      await expect
        .poll(async () => total(await scrape(gateway), DELIVERIES, { endpoint: 'tracker.down', state: 'delayed' }))
        .toBeGreaterThan(0);
    const samples = await scrape(world.gateways[0]);
    const endpoints = samples.filter(({ name }) => name === DELIVERIES).map(({ labels }) => labels['endpoint']);
    expect(new Set(endpoints)).toEqual(new Set(['tracker.ends', 'tracker.moves', 'tracker.down', 'other.ends']));
    expect(total(samples, DELIVERIES, { state: 'dead' })).toBe(0);
  });

  it('write neither secret nor URL to the log', () => {
    expect(world.log()).not.toContain(receiver.secret.slice(6));
    expect(world.log()).not.toContain('/hooks/postern');
  });
});
