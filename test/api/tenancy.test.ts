import { type Operation, operations } from '@postern/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, issueFor, paymentOf, visitorFor } from '../support/asks.ts';
import { askPerson, sessionOf } from '../support/payment-person.ts';
import { connectAccount } from '../support/person-at-gateway.ts';
import { dumpStore } from '../support/store-dump.ts';
import { type Answer, askFor, keyOf, type PayingWorld, startWorld } from '../support/world.ts';

let world: PayingWorld;
let subject = '';
/** Records of the MCP server `tracker`. */
let own = { elicitationId: '', paymentId: '', connectionId: '', credentialId: '' };

beforeAll(async () => {
  world = await startWorld({
    payment: {},
    otherMcpServers: [
      { id: 'other' },
      { id: 'friend', group: 'family' },
      { id: 'sibling', group: 'family' },
      { id: 'narrow', group: 'family', providers: [] },
      { id: 'application', identity: { mode: 'external', verifyUrl: 'http://localhost:7001/verify' } },
    ],
  });
  subject = world.subject();
  own = { ...(await connected('tracker')), paymentId: await paid(), credentialId: await saved() };
});
afterAll(() => world?.[Symbol.asyncDispose]());

const apiOf = (mcpServerId: string) => world.apiOf({ apiKey: keyOf(mcpServerId) });

async function connected(mcpServerId: string) {
  const { body } = await apiOf(mcpServerId).issue(askFor(world, subject));
  await connectAccount(world.raw(), body.elicitationId, subject);
  const { body: read } = await apiOf(mcpServerId).read(body.elicitationId);
  return { elicitationId: body.elicitationId, connectionId: read.outcome?.connectionId ?? '' };
}

/** A payment of the subject that Stripe has taken, for `tracker`. */
async function paid(): Promise<string> {
  const person = await askPerson(world, paymentOf());
  await person.approve();
  world.stripe.pay(sessionOf(world.stripe, person.elicitationId).id);
  await person.comeBack();
  return person.elicitationId;
}

/** A lasting credential of the subject, for `tracker`. */
async function saved(): Promise<string> {
  const credential = { ...apiKeyRequest, retention: 'lasting' as const };
  const { elicitationId } = await issueFor(world, subject, { kind: 'credential', credential });
  await acceptWith(await visitorFor(world, subject, elicitationId), elicitationId, { api_key: 'ak_0123456789' });
  return (await world.api.read(elicitationId)).body.outcome?.credentialId ?? '';
}

/** The visible parts of a response, without those that differ for every request. */
function visible(answer: Answer<unknown>) {
  const { requestId: _, ...body } = answer.body as { requestId: string };
  const headers = Object.fromEntries(
    [...answer.headers].filter(([name]) => !/^(date|x-ratelimit-|keep-alive)/.test(name)),
  );
  return JSON.stringify([answer.status, headers, body]);
}

const byId = Object.entries(operations as Record<string, Operation>).filter(([, { path }]) => path.includes('{'));
const bodies: Record<string, unknown> = {
  verifyElicitation: { verificationId: 'x', subject: { issuer: 'https://id.example', subject: 'alice' } },
  refundPayment: { reason: 'Damaged' },
};
const headersOf = (operation: Operation): Record<string, string> =>
  operation.requiresIdempotencyKey !== undefined ? { 'idempotency-key': 'tenancy' } : {};
function idIn(path: string): string {
  if (path.startsWith('/v1/payments/')) return own.paymentId;
  if (path.includes('{elicitationId}')) return own.elicitationId;
  return path.includes('{credentialId}') ? own.credentialId : own.connectionId;
}
/** Ids without an owner: in the same shard, in another shard, malformed, of another kind. */
const unknownIds = (id: string) => [
  `${id.slice(0, -1)}${id.endsWith('A') ? 'E' : 'A'}`,
  `${id.slice(0, 3)}${id.slice(3, 5) === '00' ? '01' : '00'}${id.slice(5)}`,
  id.slice(0, -1),
  `${id}x`,
  'nonsense',
  `${id.startsWith('el_') ? 'cn_' : 'el_'}${id.slice(3)}`,
  'x'.repeat(3000),
];

describe('S42: MCP servers are isolated from each other', () => {
  it.each(byId)(
    '%s: a foreign id gets the same bytes as an unknown one and changes nothing',
    async (name, operation) => {
      // For `verify`, an MCP server that may call it.
      const api = apiOf(name === 'verifyElicitation' ? 'application' : 'other');
      const call = (id: string, query = '') =>
        api.call(operation.method, operation.path.replace(/\{[^}]+\}/, id) + query, bodies[name], headersOf(operation));
      const before = await dumpStore(world);
      const foreign = await call(idIn(operation.path));
      expect(foreign.status).toBe(404);
      for (const id of unknownIds(idIn(operation.path))) expect(visible(await call(id))).toBe(visible(foreign));
      if (operation.query !== undefined)
        expect(visible(await call(own.elicitationId, '?wait=50'))).toBe(visible(foreign));
      expect(await dumpStore(world)).toEqual(before);
    },
  );

  it.each(byId.filter(([name]) => name !== 'verifyElicitation'))(
    '%s: the owner gets a response',
    async (name, operation) => {
      const answer = await apiOf('tracker').call(
        operation.method,
        operation.path.replace(/\{[^}]+\}/, idIn(operation.path)),
        bodies[name],
        headersOf(operation),
      );
      expect(answer.status).not.toBe(404);
    },
  );

  it('a connection is neither listed nor used for another MCP server', async () => {
    const query = new URLSearchParams({ issuer: world.identityProvider.issuer, subject });
    const list = await apiOf('other').call('GET', `/v1/connections?${query}`);
    expect(list.body).toEqual({ connections: [] });
    const issued = await apiOf('other').issue(askFor(world, subject));
    expect(issued).toMatchObject({ status: 201, body: { status: 'pending' } });
    expect(issued.body.outcome).toBeUndefined();
  });

  it('an open elicitation is not reused for another MCP server', async () => {
    const someone = world.subject();
    const [mine, theirs] = [
      await apiOf('tracker').issue(askFor(world, someone)),
      await apiOf('other').issue(askFor(world, someone)),
    ];
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body.elicitationId).not.toBe(mine.body.elicitationId);
  });

  it('connections are shared only in a configured group and within each member’s permissions', async () => {
    const shared = await connected('friend');
    expect(shared.connectionId).not.toBe(own.connectionId);
    expect((await apiOf('sibling').accessToken(shared.connectionId)).status).toBe(200);
    expect((await apiOf('sibling').issue(askFor(world, subject))).body.outcome?.connectionId).toBe(shared.connectionId);
    // The elicitation that created the connection still belongs to its MCP server only.
    expect((await apiOf('sibling').read(shared.elicitationId)).status).toBe(404);
    expect((await apiOf('narrow').accessToken(shared.connectionId)).status).toBe(404);
    expect((await apiOf('tracker').accessToken(shared.connectionId)).status).toBe(404);
  });
});
