import { randomBytes, randomUUID } from 'node:crypto';
import type { Revision } from '../revision.ts';
import type { Message } from '../wire/messages.ts';
import { type Caller, type Reply, startMockServer, TOOL } from './mock-server.ts';
import { type ClientRun, type Consent, startClient } from './run-client.ts';

export interface ClientTarget {
  readonly revision: Revision;
  /** Run by a shell, with the URL of the suite's MCP server as its last argument. */
  readonly command: string;
  /** After this time the client is stopped, in milliseconds. */
  readonly timeoutMs: number;
}

/** What a client did in one scenario. */
export interface Observed {
  readonly asked: Asked;
  readonly calls: readonly Caller[];
  /** Responses to `elicitation/create`. */
  readonly responses: readonly Message[];
  readonly pageRequests: readonly string[];
  /** What the client handed to a browser. */
  readonly opened: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** Whether the client had a stream for the notifications of completion. */
  readonly isNotified: boolean;
}

/** The values that the suite's MCP server sends, new for each run. */
export interface Asked {
  readonly page: string;
  readonly elicitationId: string;
  readonly key: string;
  /** The states of the first round and of the one that only waits. */
  readonly states: readonly [string, string];
}

export type Script = (p: {
  readonly caller: Caller;
  /** 0 for the first call. */
  readonly round: number;
  readonly asked: Asked;
  readonly responses: Message[];
}) => Promise<Reply> | Reply;

const PAUSE_MS = 50;
const NOTICE = 'notifications/elicitation/complete';

/** Lets the client call the tool once, with a user who decides as `consent` says. */
export async function observe(
  { revision, command, timeoutMs }: ClientTarget,
  { name, consent, script }: { readonly name: string; readonly consent: Consent; readonly script: Script },
): Promise<Observed> {
  const calls: Caller[] = [];
  const responses: Message[] = [];
  // Not base64url: a client that parses the state, or trims it, returns another one.
  const newState = () => ` ${randomBytes(24).toString('base64')}= `;
  const values = { elicitationId: randomUUID(), key: 'open_page', states: [newState(), newState()] as const };
  await using mockServer = await startMockServer(revision, caller => {
    calls.push(caller);
    return script({ caller, round: calls.length - 1, asked, responses });
  });
  const asked: Asked = { ...values, page: mockServer.pageUrl(randomUUID()) };
  await using run = await startClient({
    command,
    timeoutMs,
    url: mockServer.url,
    env: {
      MCP_CONFORMANCE_SCENARIO: name,
      MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
      MCP_CONFORMANCE_CONTEXT: JSON.stringify({ name, tool: TOOL, consent }),
    },
  });

  let isOver = false;
  let isNotified = false;
  const ended = run.over.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    if (!isNotified && (await run.opened()).length > 0) {
      isNotified = mockServer.notify(NOTICE, { elicitationId: randomUUID() });
      for (let time = 0; time < 2; time += 1) mockServer.notify(NOTICE, { elicitationId: asked.elicitationId });
    }
    await Promise.race([ended, new Promise(resolve => setTimeout(resolve, PAUSE_MS))]);
  }
  // The browser is a process of its own, which may be slower than the client.
  const opened = await untilOpened(run, consent === 'accept' ? 3000 : 300);
  return { asked, calls, responses, pageRequests: mockServer.pageRequests, opened, isNotified, ...(await ended) };
}

async function untilOpened(run: ClientRun, ms: number): Promise<readonly string[]> {
  const end = performance.now() + ms;
  let opened = await run.opened();
  while (opened.length === 0 && performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    opened = await run.opened();
  }
  return opened;
}
