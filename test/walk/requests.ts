import type { Gateway } from '@postern/gateway';
import { postern } from '@postern/mcp';
import { z } from 'zod';
import { issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { createCondition } from '../support/condition.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { bearerIsSubject, startMcpEndpoint } from '../support/mcp-endpoint.ts';
import { type ModernAnswer, modernCall, urlRequestOf } from '../support/modern-call.ts';
import { connectAccount, elicitationIdOf } from '../support/person-at-gateway.ts';
import { createRawBrowser } from '../support/raw-browser.ts';
import { askFor, createApi, keyOf, startWorld } from '../support/world.ts';

export interface MeasuredRequest {
  readonly request: string;
  /** Modules that can take part: the gateway with its packages, or the MCP server with its packages. */
  readonly owners: RegExp;
  /** Does everything up to the request, for a new user, and returns the request. */
  readonly prepare: () => Promise<() => Promise<void>>;
}

export interface Requests extends AsyncDisposable {
  readonly list: readonly MeasuredRequest[];
}

/** Longer than any run, so that sweepers take no part. */
const NO_SWEEP_MS = 3_600_000;
const WAIT_SECONDS = 50;
const GATEWAY = /^(?:packages\/(?!mcp\/|host\/)|services\/gateway\/)/;
const MCP_SERVER = /^packages\/(?:mcp|api)\//;

/**
 * Starts a gateway in this process, whose relay and sweepers rest, and a second replica in another process. The second replica wakes
 * the waiting read and serves the MCP server, so that their modules are counted without those of the request on the other side.
 */
export async function startRequests(): Promise<Requests> {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await startWorld({ payment: {}, sweepPauseMs: NO_SWEEP_MS }));
  const [gateway] = world.gateways;
  if (gateway === undefined) throw new TypeError('a world without a gateway');
  await gateway.relay.stop();
  const replica = stack.use(await startGatewayProcess(world.config));
  const replicaApi = createApi(replica.address, keyOf('tracker'));

  const gate = postern({ url: replica.address, apiKey: keyOf('tracker') });
  stack.defer(() => gate.close());
  const mcpServer = stack.use(
    await startMcpEndpoint({
      authenticate: bearerIsSubject(world.identityProvider.issuer),
      gate,
      offer: offered => {
        const handler = gate.tool(async (_: object, ctx) => {
          const { action } = await ctx.gate.authorize('forge', { scopes: ['repo'] });
          return { content: [{ type: 'text' as const, text: action }] };
        });
        offered.registerTool('connect', { inputSchema: z.object({}) }, handler);
      },
    }),
  );

  const waits = watchWaits(gateway.deps.stores.notifier);
  const list: MeasuredRequest[] = [
    {
      request: 'POST elicitations',
      owners: GATEWAY,
      async prepare() {
        const subject = world.subject();
        return async () => expectStatus(await world.api.issue(askFor(world, subject)), 201);
      },
    },
    {
      request: 'OAuth callback',
      owners: GATEWAY,
      async prepare() {
        const subject = world.subject();
        const { elicitationId } = await world.ask(subject);
        const browser = await visitorFor(world, subject, elicitationId);
        const callback = await browser.decideAtProvider(await browser.accept(elicitationId), 'alice');
        return async () => expectStatus(await browser.get(callback), 303);
      },
    },
    {
      request: 'Stripe approval',
      owners: GATEWAY,
      async prepare() {
        const subject = world.subject();
        const { elicitationId } = await issueFor(world, subject, paymentOf());
        const browser = await visitorFor(world, subject, elicitationId);
        const form = await browser.acceptForm(elicitationId);
        return async () => expectStatus(await browser.post(`/e/${elicitationId}/accept`, { form }), 303);
      },
    },
    {
      request: 'GET ?wait=, woken',
      owners: GATEWAY,
      async prepare() {
        const { elicitationId } = await world.ask(world.subject());
        return async () => {
          const answer = world.api.read(elicitationId, WAIT_SECONDS);
          await waits.untilWaiting(elicitationId);
          expectStatus(await replicaApi.cancel(elicitationId), 200);
          expectStatus(await answer, 200);
        };
      },
    },
    {
      request: 'authorize(), connected',
      owners: MCP_SERVER,
      async prepare() {
        const subject = world.subject();
        const { elicitationId } = await world.ask(subject);
        await connectAccount(world.raw(), elicitationId, subject);
        return async () => expectAccepted(await modernCall(mcpServer.url, { tool: 'connect', subject }));
      },
    },
    {
      request: 'authorize(), asked',
      owners: MCP_SERVER,
      async prepare() {
        const call = { tool: 'connect', subject: world.subject() };
        const browser = createRawBrowser({ address: replica.address, publicUrl: world.publicUrl });
        return async () => {
          const { key, url, requestState } = urlRequestOf(await modernCall(mcpServer.url, call));
          await connectAccount(browser, elicitationIdOf(url), call.subject);
          const inputResponses = { [key]: { action: 'accept' } };
          expectAccepted(await modernCall(mcpServer.url, { ...call, inputResponses, requestState }));
        };
      },
    },
  ];
  const owned = stack.move();
  return { list, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Observes for which elicitations a waiting read has read the status and waits for a wake-up. */
function watchWaits(notifier: Gateway['deps']['stores']['notifier']) {
  const begun = new Set<string>();
  const changed = createCondition();
  const watch = notifier.watch.bind(notifier);
  notifier.watch = id => {
    const watched = watch(id);
    const next = watched.next.bind(watched);
    watched.next = (...timing) => {
      const woken = next(...timing);
      begun.add(id);
      changed.notify();
      return woken;
    };
    return watched;
  };
  return { untilWaiting: (id: string) => changed.until(() => begun.has(id)) };
}

function expectStatus(answer: { readonly status: number }, status: number): void {
  if (answer.status !== status) throw new Error(`status ${answer.status} instead of ${status}`);
}

function expectAccepted({ text, wire }: ModernAnswer): void {
  if (text !== 'accept') throw new Error(`not accepted: ${wire}`);
}
