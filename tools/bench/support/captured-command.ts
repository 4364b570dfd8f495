import { randomBytes } from 'node:crypto';
import { startRedisMonitor } from '../../../test/support/redis-monitor.ts';

/** A Redis command as the gateway sent it, split into constant and variable parts. */
export interface CapturedCommand {
  readonly name: string;
  readonly values: readonly (readonly Piece[])[];
}

/** Constant text, or the name and length of a part that differs from call to call. */
type Piece = string | { readonly slot: string; readonly length: number };

/** Ids are `<kind>_<shard><43 characters>`; the parts appear separately in key names. */
const shardIn = (id: string) => id.slice(3, 5);
const secretIn = (id: string) => id.slice(5);

/** Runs of base64url as long as a digest or an id (43), or a shortened digest or an operation id (22). */
const RANDOM_RUN = /(?<![\w-])(?:[\w-]{43}|[\w-]{22})(?![\w-])/;

/** The relay's commands for a committed event also contain its id, but are not part of the call. */
const FEED_KEY = /:feed:/;

/** {@link captureCommands} for a call that sends a single command. */
export async function captureCommand(redisUrl: string, act: Act): Promise<CapturedCommand> {
  const [command, ...others] = await captureCommands(redisUrl, act);
  if (command === undefined || others.length > 0)
    throw new Error(`expected one command about the id, saw ${others.length + Number(command !== undefined)}`);
  return command;
}

/** Makes the gateway send commands, and returns the subject and the id concerned. */
type Act = () => Promise<{ id: string; subject: string }>;

/**
 * Watches Redis (MONITOR) while `act` makes the gateway send commands. Returns those that contain the id from `act`, in order. So the
 * ceiling always sends exactly the gateway's current commands, scripts and bytes.
 */
export async function captureCommands(redisUrl: string, act: Act): Promise<CapturedCommand[]> {
  using monitor = await startRedisMonitor(redisUrl);
  const { id, subject } = await act();
  const sent = (await monitor.take()).filter(({ isFromScript }) => !isFromScript).map(({ args }) => args);
  const isRelay = (args: readonly string[]) => args.some(value => FEED_KEY.test(value));
  const found = sent.filter(args => args.some(value => value.includes(secretIn(id))) && !isRelay(args));
  return found.map(([name = '', ...values]) => ({ name, values: values.map(value => pieces(value, id, subject)) }));
}

function pieces(value: string, id: string, subject: string): Piece[] {
  const variable = new RegExp(
    [
      `(?<secret>${secretIn(id)})`,
      `(?<=\\{)(?<hashTag>${shardIn(id)})(?=\\})`,
      `(?<=[a-z]{2}_)(?<prefix>${shardIn(id)})(?=${secretIn(id)})`,
      `(?<subject>${subject})`,
      `(?<random>${RANDOM_RUN.source})`,
    ].join('|'),
    'g',
  );
  const found: Piece[] = [];
  let at = 0;
  for (const match of value.matchAll(variable)) {
    const text = match[0];
    const { secret, hashTag, prefix, subject: name } = match.groups ?? {};
    const slot = secret ? 'secret' : (hashTag ?? prefix) ? 'shard' : name ? 'subject' : text;
    found.push(value.slice(at, match.index), { slot, length: text.length });
    at = match.index + text.length;
  }
  return [...found, value.slice(at)].filter(piece => piece !== '');
}

/**
 * Builds the command again, for `id` if given, else for new random ids.
 * @param drawn what replaces the variable parts: commands that share it are about the same elicitation
 */
export function filled(command: CapturedCommand, id?: string, drawn = new Map<string, string>()): string[] {
  if (!drawn.has('shard')) drawn.set('shard', id === undefined ? randomBytes(1).toString('hex') : shardIn(id));
  if (id !== undefined) drawn.set('secret', secretIn(id));
  return command.values.map(parts => {
    let value = '';
    for (const piece of parts) {
      if (typeof piece === 'string') {
        value += piece;
        continue;
      }
      let text = drawn.get(piece.slot);
      if (text === undefined) {
        text = randomBytes(Math.ceil(piece.length * 0.75))
          .toString('base64url')
          .slice(0, piece.length);
        drawn.set(piece.slot, text);
      }
      value += text;
    }
    return value;
  });
}
