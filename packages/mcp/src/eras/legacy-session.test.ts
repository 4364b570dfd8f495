import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { legacyWorld, type SdkName } from '../testing/legacy-world.ts';
import { handlers } from '../testing/outcome-tool.ts';

const pairs: { server: SdkName; client: SdkName }[] = [
  { server: 'v2', client: 'v2' },
  { server: 'v2', client: 'v1' },
  { server: 'v1', client: 'v1' },
  { server: 'v1', client: 'v2' },
];

const ends = [
  ['completed', 'accept'],
  ['declined', 'decline: declined'],
  ['cancelled', 'cancel: cancelled'],
  ['expired', 'cancel: expired'],
  ['failed', 'error: provider_refused'],
] as const;

describe.each(pairs)('SDK $server server, SDK $client client', ({ server, client }) => {
  // These MCP clients cancel each request, so −32042 follows.
  describe('−32042', () => {
    test.each(ends)('reports %s as it ended', async (status, said) => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client);
      const first = await host.call();
      const elicitation = world.gateway.elicitations[0];
      expect(first.error).toEqual({
        code: -32042,
        message: expect.any(String),
        data: {
          elicitations: [
            {
              mode: 'url',
              elicitationId: elicitation?.elicitationId,
              url: elicitation?.url,
              message: expect.stringContaining(elicitation?.matchCode ?? 'no match code'),
            },
          ],
        },
      });
      world.gateway.end(status);
      await host.untilCompleted(1);
      expect(host.completions).toEqual([elicitation?.elicitationId]);
      expect((await host.call()).text).toBe(said);
    });

    test('the message contains the link and the match code, for MCP clients that ignore the data', async () => {
      await using world = await legacyWorld(server);
      const { error } = await (await world.connect(client)).call();
      const [elicitation] = world.gateway.elicitations;
      expect(error?.message).toContain(elicitation?.url ?? 'no link');
      expect(error?.message).toContain(elicitation?.matchCode ?? 'no match code');
    });

    test('a terminal status is reported once; then the user may be asked again', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client);
      await host.call();
      world.gateway.end('declined');
      expect((await host.call()).text).toBe('decline: declined');
      expect((await host.call()).error?.code).toBe(-32042);
      expect(world.gateway.elicitations).toHaveLength(2);
    });

    test('the notice reaches the initiating session only, once for parallel calls', async () => {
      await using world = await legacyWorld(server);
      const initiator = await world.connect(client);
      const bystander = await world.connect(client);
      const stranger = await world.connect(client, { subject: 'bob' });
      await Promise.all([initiator.call('a'), initiator.call('b'), initiator.call('c')]);
      expect(world.gateway.elicitations).toHaveLength(1);
      await stranger.call();
      world.gateway.end('completed', 'el-1');
      await initiator.untilCompleted(1);
      world.gateway.end('declined', 'el-2');
      await stranger.untilCompleted(1);
      expect((await bystander.call()).text).toBe('accept');
      expect(initiator.completions).toEqual(['el-1']);
      expect(stranger.completions).toEqual(['el-2']);
      expect(bystander.completions).toEqual([]);
    });

    test('both sessions with the same elicitation get a notice', async () => {
      await using world = await legacyWorld(server);
      const one = await world.connect(client);
      const other = await world.connect(client);
      await one.call();
      await other.call();
      world.gateway.end('completed');
      await Promise.all([one.untilCompleted(1), other.untilCompleted(1)]);
      expect([...one.completions, ...other.completions]).toEqual(['el-1', 'el-1']);
    });

    test('sends a separate notice for each ask of a call', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client);
      await host.call('pay_then_confirm');
      world.gateway.end('completed', 'el-1');
      await host.untilCompleted(1);
      await host.call('pay_then_confirm');
      world.gateway.end('completed', 'el-2');
      await host.untilCompleted(2);
      expect(host.completions).toEqual(['el-1', 'el-2']);
      expect((await host.call('pay_then_confirm')).text).toBe('receipt-of-el-1 receipt-of-el-2');
    });

    test('an approval is used in one session and by no other user', async () => {
      await using world = await legacyWorld(server);
      const hosts = [await world.connect(client), await world.connect(client)] as const;
      const stranger = await world.connect(client, { subject: 'bob' });
      for (const host of [...hosts, stranger]) await host.call('pay_once');
      expect(world.gateway.elicitations).toHaveLength(2);
      world.gateway.end('completed', 'el-1');
      const answers = await Promise.all([...hosts, stranger].map(host => host.call('pay_once')));
      expect(answers.filter(({ text }) => text?.startsWith('receipt-of-el-1'))).toHaveLength(1);
      expect(answers.filter(({ error }) => error?.code === -32042)).toHaveLength(2);
      expect(answers[2]?.text?.startsWith('receipt')).not.toBe(true);
    });

    test('stops waiting for a closed session', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client);
      await host.call();
      await world.gateway.untilWaiting();
      await host.terminate();
      await world.gateway.untilIdle();
      expect(world.gateway.elicitations[0]?.status).toBe('pending');
    });

    test('sends the link in a plain result at the limit of notices', async () => {
      await using world = await legacyWorld(server, { maxWaiters: 0 });
      const host = await world.connect(client);
      const answer = await host.call();
      expect(answer.text).toContain(world.gateway.elicitations[0]?.url);
      expect(world.gateway.waiting).toBe(0);
    });
  });

  describe('push', () => {
    test.each(ends)('%s reaches the waiting handler', async (status, said) => {
      await using world = await legacyWorld(server);
      const asked: string[] = [];
      const host = await world.connect(client, {
        async elicit({ elicitationId, url }) {
          asked.push(elicitationId, url);
          await world.gateway.untilWaiting(1);
          world.gateway.end(status);
          return { action: 'accept' };
        },
      });
      expect((await host.call()).text).toBe(said);
      await host.untilCompleted(1);
      expect(asked).toEqual(['el-1', world.gateway.elicitations[0]?.url]);
      expect(host.completions).toEqual(['el-1']);
    });

    test('the user may finish on the page before the MCP client answers', async () => {
      await using world = await legacyWorld(server);
      const never = Promise.withResolvers<{ action: 'accept' }>();
      const host = await world.connect(client, {
        elicit() {
          void world.gateway.untilWaiting().then(() => world.gateway.end('completed'));
          return never.promise;
        },
      });
      expect((await host.call()).text).toBe('accept');
    });

    test('S223: a decline of the MCP client ends the call, and no −32042 asks again', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client, { elicit: () => ({ action: 'decline' }) });
      expect((await host.call()).text).toBe('decline: client_declined');
      expect(world.gateway.elicitations[0]?.status).toBe('pending');
    });

    test('waits for the answer of the MCP client with holdMs 0, but not for the user', async () => {
      await using world = await legacyWorld(server, { holdMs: 0 });
      const host = await world.connect(client, { elicit: () => ({ action: 'accept' }) });
      expect((await host.call()).error).toMatchObject({ code: -32042 });
    });

    test('a completed page takes precedence over a faked decline', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client, {
        elicit() {
          world.gateway.end('completed');
          return { action: 'decline' };
        },
      });
      expect((await host.call()).text).toBe('accept');
    });

    test.each([
      ['takes longer', () => ({ action: 'accept' as const })],
      [
        'is never asked, because a proxy drops the request',
        () => Promise.withResolvers<{ action: 'accept' }>().promise,
      ],
    ])('a user who %s gets −32042, and the notice later', async (_case, elicit) => {
      await using world = await legacyWorld(server, { holdMs: 100 });
      const host = await world.connect(client, { elicit });
      expect((await host.call()).error).toMatchObject({ code: -32042 });
      world.gateway.end('expired');
      await host.untilCompleted(1);
      expect((await host.call()).text).toBe('cancel: expired');
    });

    test('an MCP client that timed out gets the outcome from its next call', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client, { elicit: () => ({ action: 'accept' }) });
      const abort = new AbortController();
      const call = host.call('Broken', abort.signal);
      // One waiting read serves the session and the held call.
      await world.gateway.untilWaiting();
      const ended = once(handlers, 'end');
      abort.abort();
      await Promise.allSettled([call, ended]);
      expect(world.gateway.waiting).toBe(1);
      world.gateway.end('declined');
      await host.untilCompleted(1);
      expect((await host.call()).text).toBe('decline: declined');
    });

    test('an MCP client that cannot answer gets −32042', async () => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client, {
        elicit() {
          throw new Error('no browser');
        },
      });
      const { error } = await host.call();
      expect(error).toMatchObject({
        code: -32042,
        message: expect.stringContaining(world.gateway.elicitations[0]?.url ?? ''),
      });
    });

    test('parallel calls push one request', async () => {
      await using world = await legacyWorld(server);
      let asked = 0;
      const host = await world.connect(client, {
        elicit() {
          asked += 1;
          return { action: 'accept' };
        },
      });
      const calls = Promise.all([host.call('a'), host.call('b')]);
      await world.gateway.untilWaiting();
      world.gateway.end('completed');
      expect((await calls).map(({ text }) => text)).toEqual(['accept', 'accept']);
      expect(asked).toBe(1);
    });
  });

  test.each<Record<string, object>>([{ elicitation: { form: {} } }, { elicitation: {} }, {}])(
    'a client that did not declare url gets the link in a plain result: %j',
    async capabilities => {
      await using world = await legacyWorld(server);
      const host = await world.connect(client, { capabilities });
      const answer = await host.call();
      expect(answer.error).toBeUndefined();
      expect(answer.text).toContain(world.gateway.elicitations[0]?.url);
      world.gateway.end('completed');
      expect((await host.call()).text).toBe('accept');
      expect(host.completions).toEqual([]);
    },
  );
});
