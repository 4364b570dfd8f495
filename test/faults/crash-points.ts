import { type CommandName, scriptOf } from '@postern/store-redis';
import type { Moment, PassingRequest } from '@postern/testkit/fault-proxy';
import type { FaultGateway } from './fault-world.ts';

/**
 * A named moment at which a gateway is killed. It is found from outside, by what passes between the gateway and Redis, so that the
 * gateway is the one that operators run.
 */
export interface CrashPoint {
  readonly script: CommandName;
  /** Which calls of the script are meant. Default: all. */
  readonly isMeant?: (words: readonly string[]) => boolean;
  readonly moment: Moment;
}

const completes = (words: readonly string[]) => words.includes('completed');
const storesConnection = (words: readonly string[]) => completes(words) && words.includes('authorization');

export const crashPoints = {
  /** Created in Redis, and the gateway does not know. */
  create_committed: { script: 'createElicitation', moment: 'answer_arrives' },
  /** The answer is kept for repeats, and not given. */
  create_answer_kept: { script: 'finishIdempotency', moment: 'answer_arrives' },
  /** The provider's answer is here, and nothing is written. */
  callback_unrecorded: { script: 'consumeOneTime', moment: 'request_arrives' },
  /** It is written that the answer was used, and no token was asked for. */
  callback_recorded: { script: 'consumeOneTime', moment: 'answer_arrives' },
  /** The provider has issued tokens, and they are not stored. */
  tokens_issued: { script: 'transitionElicitation', isMeant: storesConnection, moment: 'request_arrives' },
  /** The commit is on its way to Redis. */
  commit_sent: { script: 'transitionElicitation', isMeant: completes, moment: 'request_passed' },
  /** Committed, and nobody was told. */
  committed: { script: 'transitionElicitation', isMeant: completes, moment: 'answer_arrives' },
  /** The relay has read events, and not carried them. */
  carry_begun: { script: 'carryEvents', moment: 'request_arrives' },
  /** Carried, and nobody has noted how far. */
  carried: { script: 'carryEvents', moment: 'answer_arrives' },
  /** The cursor is being moved. */
  cursor_sent: { script: 'moveCursor', moment: 'request_passed' },
  /** The provider has rotated, and the new tokens are not stored. */
  refresh_unstored: { script: 'finishRefresh', moment: 'request_arrives' },
  /** A sealed value was replaced by itself under another key. */
  rewrapped: { script: 'replaceSealed', moment: 'answer_arrives' },
} as const satisfies Record<string, CrashPoint>;

export type CrashPointName = keyof typeof crashPoints;

/** Whether a Redis command runs this script, by its digest or by its text. */
export function runsScript(name: CommandName): (words: readonly string[]) => boolean {
  const { lua, digest } = scriptOf(name);
  return ([verb = '', script]) => /^eval(sha)?$/i.test(verb) && (script === digest || script === lua);
}

/** What a crash point is looked for by. */
export function matcherOf(point: CrashPoint): (request: PassingRequest) => boolean {
  const isScript = runsScript(point.script);
  return ({ words }) => isScript(words) && (point.isMeant?.(words) ?? true);
}

export interface Crash {
  readonly gateway: FaultGateway;
  /** The elicitation that it happened to, where the command names one. */
  readonly elicitationId: string | undefined;
  /** The connection that it happened to, where the command writes one. */
  readonly connectionId: string | undefined;
}

/**
 * Kills whichever of the gateways comes to the point first, at its `nth` time there. Resolves when that one is dead.
 * @param gateways with a link to Redis
 */
export async function crashAt(gateways: readonly FaultGateway[], name: CrashPointName, nth = 1): Promise<Crash> {
  const point: CrashPoint = crashPoints[name];
  return killAt(gateways, { why: name, moment: point.moment, matches: matcherOf(point), nth });
}

/** The same for any command. */
export async function killAt(
  gateways: readonly FaultGateway[],
  p: {
    readonly why: string;
    readonly moment: Moment;
    readonly matches: (request: PassingRequest) => boolean;
    readonly nth: number;
  },
): Promise<Crash> {
  const { promise, resolve } = Promise.withResolvers<Crash>();
  let left = p.nth;
  for (const gateway of gateways)
    void gateway.redisLink.watch({
      moment: p.moment,
      // Counted over all of them; once it has happened the others are left alone.
      matches(request) {
        if (left === 0 || !p.matches(request)) return false;
        left -= 1;
        return left === 0;
      },
      act(request) {
        gateway.strike(p.why);
        const elicitationId = request.words.find(word => /^el_[A-Za-z0-9_-]{20,}$/.test(word));
        resolve({ gateway, elicitationId, connectionId: connectionIn(request.words) });
        // Whatever has not gone on by now never does: the process is dead.
        return p.moment.endsWith('_arrives') ? 'cut' : undefined;
      },
    });
  const crash = await promise;
  await crash.gateway.untilDead();
  return crash;
}

/** By the key of its record (KEYSPACE.md). */
function connectionIn(words: readonly string[]): string | undefined {
  for (const word of words) {
    const [, shard, name] = /:\{([0-9a-f]{2})\}:cn:([A-Za-z0-9_-]+)$/.exec(word) ?? [];
    if (shard !== undefined && name !== undefined) return `cn_${shard}${name}`;
  }
  return undefined;
}
