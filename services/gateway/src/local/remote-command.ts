import {
  type CallerMessage,
  type CommandMessage,
  callerMessageSchema,
  type LocalOperation,
  MAX_TEXT,
  type MessageLine,
} from '@postern/api/local';
import { CliError, type CliIo, UsageError } from '../cli/cli-io.ts';

type CommandRequest = Extract<LocalOperation, { operation: 'command' }>;
type Reply = Extract<CallerMessage, { type: 'reply' | 'failed' }>;

/**
 * Runs a command of the owner in this process. Its streams, questions and files are those of the caller, and nothing of the caller's
 * environment is used. It is interrupted when the caller has gone.
 * @param p.run runs the command on the stores of this process
 * @param p.stopping aborts when the gateway stops
 */
export async function serveCommand(
  request: CommandRequest,
  line: MessageLine,
  { run, stopping }: { run: (args: readonly string[], io: CliIo) => Promise<number>; stopping: AbortSignal },
): Promise<void> {
  const interrupted = new AbortController();
  const unread = new AbortController();
  const waiting = new Map<number, (reply: Reply | undefined) => void>();
  const send = (message: CommandMessage) => line.send(message);
  let isOver = false;
  const hasGone = () => {
    isOver = true;
    interrupted.abort();
    unread.abort();
    for (const resolve of waiting.values()) resolve(undefined);
    waiting.clear();
  };
  const listen = async () => {
    for (;;) {
      const message = await line.next(callerMessageSchema);
      if (message === undefined) return;
      if (message.type === 'interrupt') interrupted.abort();
      else if (message.type === 'unread') unread.abort();
      else {
        waiting.get(message.id)?.(message);
        waiting.delete(message.id);
      }
    }
  };
  // A message that is none of this protocol ends the caller's part too.
  const listening = listen().then(hasGone, hasGone);

  let lastId = 0;
  async function reply(message: { type: 'ask' | 'write'; text: string } | { type: 'read' | 'create'; path: string }) {
    if (isOver) return undefined;
    lastId += 1;
    const id = lastId;
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    waiting.set(id, resolve);
    send({ ...message, id });
    const answer = await promise;
    if (answer?.type !== 'failed') return answer;
    throw answer.isUsage ? new UsageError(answer.message) : new CliError(answer.message);
  }
  async function ofCaller(message: Parameters<typeof reply>[0]): Promise<string> {
    const answer = await reply(message);
    if (answer === undefined) throw new CliError('The caller of this command has gone.');
    return answer.text ?? '';
  }
  const stream = (type: 'out' | 'err') => (text: string) => {
    for (let at = 0; at < text.length; at += MAX_TEXT) send({ type, text: text.slice(at, at + MAX_TEXT) });
  };

  const code = await run(request.args, {
    env: {},
    out: stream('out'),
    err: stream('err'),
    isTerminal: request.isTerminal,
    signal: AbortSignal.any([interrupted.signal, stopping]),
    unread: unread.signal,
    ...(request.answers && { ask: async question => (await reply({ type: 'ask', text: question }))?.text }),
    files: {
      read: path => ofCaller({ type: 'read', path }),
      async create(path) {
        await ofCaller({ type: 'create', path });
        return async text => void (await ofCaller({ type: 'write', text }));
      },
    },
  });
  send({ type: 'exit', code });
  await line.end();
  await listening;
}
