/** Revision 2025-11-25 with real MCP servers and clients of both SDKs. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ElicitationContext, ElicitationHandler, ElicitationRequest } from './elicitation.ts';
import type { HostError } from './errors.ts';
import type { HostOptions } from './host-options.ts';
import { accept, cancel, decline } from './requests.ts';
import { type ExampleTool, type ExampleTools, legacyWorlds, WireError } from './testing/legacy-worlds.ts';
import { ManualClock } from './testing/manual-clock.ts';

const page = (id: string, url = `https://gate.example.com/e/${id}`) =>
  ({ mode: 'url', elicitationId: id, url, message: `Open ${id}.` }) as const;
const required = (...ids: readonly string[]) => new WireError(-32042, { elicitations: ids.map(id => page(id)) });
const code = (expected: string) => expect.objectContaining({ code: expected });
const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };

/** Returns the given results in order, and records the requests. */
function recorded(...answers: readonly Awaited<ReturnType<ElicitationHandler>>[]) {
  const asked: ElicitationRequest[] = [];
  const contexts: ElicitationContext[] = [];
  const handler: ElicitationHandler = async (request, context) => {
    asked.push(request);
    contexts.push(context);
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new Error('asked too often');
    return answer;
  };
  return { handler, asked, contexts };
}

describe.each(Object.entries(legacyWorlds))('%s', (_name, connect) => {
  async function join(tools: ExampleTools, options: Omit<HostOptions, 'mcpServer'>) {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    return await connect(tools, { mcpServer: { id: 'issues' }, ...options }, stack);
  }

  describe('a pushed request', () => {
    const ask =
      (params: Record<string, unknown>): ExampleTool =>
      async ({ elicit }) =>
        JSON.stringify(await elicit(params));

    test('reaches the handler with the MCP server and the tool', async () => {
      const { handler, asked, contexts } = recorded(accept({ title: 'Broken' }), accept());
      const host = await join(
        { form: ask({ message: 'Which?', requestedSchema: schema }), url: ask(page('el-1')) },
        { handler },
      );
      expect(JSON.parse(await host.call('form'))).toEqual({ action: 'accept', content: { title: 'Broken' } });
      expect(JSON.parse(await host.call('url'))).toEqual({ action: 'accept' });
      expect(asked).toEqual([{ mode: 'form', message: 'Which?', requestedSchema: schema }, page('el-1')]);
      expect(contexts[0]).toMatchObject({
        mcpServer: { id: 'issues', claimedName: 'Issue Tracker' },
        toolName: 'form',
      });
    });

    test.each([decline(), cancel()])('returns $action to the MCP server', async answer => {
      const host = await join({ url: ask(page('el-1')) }, { handler: async () => answer });
      expect(JSON.parse(await host.call('url'))).toEqual(answer);
    });

    test('is refused with −32602 if it is outside the restricted schema or in an undeclared mode', async () => {
      const { handler, asked } = recorded();
      const refused: ExampleTool = async ({ elicit, args }) => {
        const error: unknown = await elicit(args).catch((reason: unknown) => reason);
        return String((error as { code: unknown }).code);
      };
      const empty = { type: 'object', properties: { a: { type: 'string', enum: [] } } };
      const unshown: string[] = [];
      const onUnshown = ({ code, message }: HostError) => unshown.push(`${code} ${message}`);
      const host = await join({ refused }, { handler, modes: ['form'], onUnshown });
      expect(await host.call('refused', { message: 'm', requestedSchema: empty })).toBe('-32602');
      expect(unshown).toEqual([expect.stringMatching(/^invalid_request .*properties\.a\.enum/)]);
      expect(await host.call('refused', page('el-1'))).toBe('-32602');
      expect(asked).toEqual([]);
    });

    test('fails instead of accepting if the answer violates the form', async () => {
      const { handler } = recorded(accept({ title: 7 }));
      const failed: ExampleTool = async ({ elicit }) =>
        await elicit({ message: 'm', requestedSchema: schema }).then(
          () => 'accepted',
          () => 'refused',
        );
      expect(await (await join({ failed }, { handler })).call('failed')).toBe('refused');
    });

    test('stops the handler if the MCP server cancels it', async () => {
      const takeBack = new AbortController();
      const { promise: stopped, resolve } = Promise.withResolvers<void>();
      const handler: ElicitationHandler = async (request, { signal }) => {
        if (request.message === 'first') return decline();
        signal.addEventListener('abort', () => resolve());
        takeBack.abort();
        await stopped;
        return cancel();
      };
      const taken: ExampleTool = async ({ elicit }) => {
        // SDK 1.x does not cancel its request with id 0.
        await elicit({ ...page('el-0'), message: 'first' });
        return await elicit(page('el-1'), takeBack.signal).then(
          () => 'answered',
          () => 'taken back',
        );
      };
      const host = await join({ taken }, { handler });
      expect(await host.call('taken')).toBe('taken back');
      await stopped;
    });
  });

  describe('−32042', () => {
    /** Requires each page in turn, and sends its completion notice once the next call arrives. */
    function wants(...ids: readonly string[]) {
      let at = 0;
      let calls = 0;
      const notices: ((id: string) => Promise<void>)[] = [];
      const tool: ExampleTool = async ({ notifyComplete }) => {
        calls += 1;
        notices.push(notifyComplete);
        const id = ids[at];
        at += 1;
        if (id !== undefined) throw required(id);
        return 'done';
      };
      return {
        tool,
        notify: async (id: string) => await notices.at(-1)?.(id),
        get calls() {
          return calls;
        },
      };
    }

    test('opens the page, awaits its completion and calls the tool again', async () => {
      const server = wants('el-1', 'el-2');
      const asked: string[] = [];
      const handler: ElicitationHandler = async request => {
        asked.push(request.mode === 'url' ? request.url : '');
        await server.notify(`el-${asked.length}`);
        return accept();
      };
      const host = await join({ buy: server.tool }, { handler });
      expect(await host.call('buy')).toBe('done');
      expect(asked).toEqual([page('el-1').url, page('el-2').url]);
      expect(server.calls).toBe(3);
      await host.completion('el-2');
    });

    test('with several pages asks for each before it calls the tool again', async () => {
      let calls = 0;
      const buy: ExampleTool = async ({ notifyComplete }) => {
        calls += 1;
        if (calls > 1) return 'done';
        // The notices arrive before the error that names their ids.
        await notifyComplete('el-1');
        await notifyComplete('el-2');
        throw required('el-1', 'el-2');
      };
      const { handler, asked } = recorded(accept(), accept());
      expect(await (await join({ buy }, { handler })).call('buy')).toBe('done');
      expect(asked).toEqual([page('el-1'), page('el-2')]);
      expect(calls).toBe(2);
    });

    test.each([decline(), cancel()])('ends the call on $action, without a second request', async answer => {
      const server = wants('el-1');
      const host = await join({ buy: server.tool }, { handler: async () => answer });
      const error: unknown = await host.call('buy').catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'elicitation_refused', action: answer.action });
      expect(server.calls).toBe(1);
    });

    test.each([
      { challenges: [{ id: 'c1', method: 'tempo', request: 'e30' }] },
      { x402Version: 1, accepts: [{ scheme: 'exact' }] },
      { elicitations: [{ mode: 'url', url: 'https://gate.example.com/', message: 'no id' }] },
      { elicitations: 'none' },
    ])('with other data is rethrown unchanged: %j', async data => {
      const { handler, asked } = recorded();
      const pay: ExampleTool = async () => {
        throw new WireError(-32042, data);
      };
      const host = await join({ pay }, { handler });
      await expect(host.call('pay')).rejects.toMatchObject({ code: -32042, data });
      expect(asked).toEqual([]);
    });

    test('other errors are rethrown unchanged', async () => {
      const broken: ExampleTool = async () => {
        throw new WireError(-32000, { why: 'broken' });
      };
      const host = await join({ broken }, { handler: async () => accept() });
      await expect(host.call('broken')).rejects.toMatchObject({ code: -32000, data: { why: 'broken' } });
    });

    test('fails with elicitation_loop for a page that was reported complete', async () => {
      const server = wants('el-1', 'el-1');
      const { handler, asked } = recorded(accept());
      const notifying: ElicitationHandler = async (request, context) => {
        await server.notify('el-1');
        return await handler(request, context);
      };
      const host = await join({ buy: server.tool }, { handler: notifying });
      await expect(host.call('buy')).rejects.toEqual(code('elicitation_loop'));
      expect(asked).toHaveLength(1);
      expect(server.calls).toBe(2);
    });

    test('fails after the maximum number of retries', async () => {
      const server = wants('a', 'b', 'c', 'd');
      let last = '';
      const handler: ElicitationHandler = async request => {
        last = request.mode === 'url' ? (request.elicitationId ?? '') : '';
        await server.notify(last);
        return accept();
      };
      const host = await join({ buy: server.tool }, { handler, limits: { retries: 2 } });
      await expect(host.call('buy')).rejects.toEqual(code('too_many_rounds'));
      expect(last).toBe('b');
    });

    test('without a notice calls again when the user reports completion, even if too early', async () => {
      const server = wants('el-1', 'el-1');
      const { handler, asked } = recorded(accept());
      const attempts: number[] = [];
      const completionPrompt: HostOptions['completionPrompt'] = async ({ attempt, request }) => {
        attempts.push(attempt);
        expect(request).toEqual(page('el-1'));
        return 'done';
      };
      const host = await join({ buy: server.tool }, { handler, completionPrompt });
      expect(await host.call('buy')).toBe('done');
      expect(asked).toHaveLength(1);
      expect(attempts).toEqual([1, 2]);
    });

    test('ends the call when the user stops waiting', async () => {
      const server = wants('el-1');
      const host = await join(
        { buy: server.tool },
        { handler: async () => accept(), completionPrompt: async () => 'cancel' },
      );
      await expect(host.call('buy')).rejects.toMatchObject({ code: 'elicitation_refused', action: 'cancel' });
    });

    test('without a notice calls the tool once more after the timeout', async () => {
      const clock = new ManualClock();
      const limits = { completionMs: 60_000, totalMs: 900_000 };
      const late = async (server: ReturnType<typeof wants>) => {
        const host = await join({ buy: server.tool }, { handler: async () => accept(), clock, limits });
        const call = host.call('buy');
        call.catch(() => undefined);
        await clock.untilWaiting(60_000);
        clock.advance(60_000);
        return await call;
      };
      expect(await late(wants('el-1'))).toBe('done');
      await expect(late(wants('el-2', 'el-2'))).rejects.toEqual(code('elicitation_pending'));
    });

    test('cannot hold a call beyond its timeout or its abort signal', async () => {
      const clock = new ManualClock();
      const limits = { completionMs: 900_000, totalMs: 60_000 };
      const host = await join({ buy: wants('el-1').tool }, { handler: async () => accept(), clock, limits });
      const call = host.call('buy');
      call.catch(() => undefined);
      await clock.untilWaiting(900_000);
      clock.advance(60_000);
      await expect(call).rejects.toEqual(code('call_timeout'));

      const caller = new AbortController();
      const opened: ElicitationHandler = async () => {
        caller.abort(new Error('enough'));
        return accept();
      };
      const other = await join({ buy: wants('el-2').tool }, { handler: opened });
      await expect(other.call('buy', {}, { signal: caller.signal })).rejects.toThrow('enough');
    });
  });
});
