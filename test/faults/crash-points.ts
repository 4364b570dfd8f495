import { type CommandName, scriptOf } from '@postern/store-redis';
import type { Moment, PassingRequest } from '@postern/testkit/fault-proxy';
import type { FaultGateway } from './fault-world.ts';

/**
 * A named moment at which a gateway is killed. The harness detects it in the traffic between gateway and Redis, so the gateway is
 * exactly the one that operators run.
 */
export interface CrashPoint {
  readonly script: CommandName;
  /** Selects calls of the script. Default: all. */
  readonly isMeant?: (words: readonly string[]) => boolean;
  readonly moment: Moment;
}

const completes = (words: readonly string[]) => words.includes('completed');
const storesConnection = (words: readonly string[]) => completes(words) && words.includes('authorization');

export const crashPoints = {
  /** Redis has created the elicitation; the gateway does not know yet. */
  create_committed: { script: 'createElicitation', moment: 'answer_arrives' },
  /** The provider's response has arrived; nothing is written. */
  callback_unrecorded: { script: 'consumeOneTime', moment: 'request_arrives' },
  /** The code is recorded as used; no token request was sent. */
  callback_recorded: { script: 'consumeOneTime', moment: 'answer_arrives' },
  /** The provider has issued tokens; they are not stored. */
  tokens_issued: { script: 'transitionElicitation', isMeant: storesConnection, moment: 'request_arrives' },
  /** The commit is on its way to Redis. */
  commit_sent: { script: 'transitionElicitation', isMeant: completes, moment: 'request_passed' },
  /** Redis has committed; the gateway has not responded. */
  committed: { script: 'transitionElicitation', isMeant: completes, moment: 'answer_arrives' },
  /** The relay has read events and not relayed them. */
  carry_begun: { script: 'carryEvents', moment: 'request_arrives' },
  /** The relay has relayed events and not recorded its position. */
  carried: { script: 'carryEvents', moment: 'answer_arrives' },
  /** The cursor update is on its way to Redis. */
  cursor_sent: { script: 'moveCursor', moment: 'request_passed' },
  /** The provider has rotated the tokens; the new ones are not stored. */
  refresh_unstored: { script: 'finishRefresh', moment: 'request_arrives' },
  /** A sealed value was replaced by the same value under another key. */
  rewrapped: { script: 'replaceSealed', moment: 'answer_arrives' },
} as const satisfies Record<string, CrashPoint>;

export type CrashPointName = keyof typeof crashPoints;

/** Returns a predicate for Redis commands that run this script, by digest or by text. */
export function runsScript(name: CommandName): (words: readonly string[]) => boolean {
  const { lua, digest } = scriptOf(name);
  return ([verb = '', script]) => /^eval(sha)?$/i.test(verb) && (script === digest || script === lua);
}

/** How to detect a crash point. */
export function matcherOf(point: CrashPoint): (request: PassingRequest) => boolean {
  const isScript = runsScript(point.script);
  return ({ words }) => isScript(words) && (point.isMeant?.(words) ?? true);
}

export interface Crash {
  readonly gateway: FaultGateway;
  /** The elicitation concerned, if the command names one. */
  readonly elicitationId: string | undefined;
  /** The connection concerned, if the command writes one. */
  readonly connectionId: string | undefined;
}

/**
 * Kills the first gateway that reaches the point, at its `nth` occurrence. Resolves when the process is dead.
 * @param gateways with `hasRedisLink`
 */
export async function crashAt(gateways: readonly FaultGateway[], name: CrashPointName, nth = 1): Promise<Crash> {
  const point: CrashPoint = crashPoints[name];
  return killAt(gateways, { why: name, moment: point.moment, matches: matcherOf(point), nth });
}

/** Like {@link crashAt}, for any command. */
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
      // Counted over all gateways. After the first kill the others are left alone.
      matches(request) {
        if (left === 0 || !p.matches(request)) return false;
        left -= 1;
        return left === 0;
      },
      act(request) {
        gateway.strike(p.why);
        const elicitationId = request.words.find(word => /^el_[A-Za-z0-9_-]{20,}$/.test(word));
        resolve({ gateway, elicitationId, connectionId: connectionIn(request.words) });
        // A request that has not passed by now never will: the process is dead.
        return p.moment.endsWith('_arrives') ? 'cut' : undefined;
      },
    });
  const crash = await promise;
  await crash.gateway.untilDead();
  return crash;
}

/** Parses the elicitation id from the key of its record (KEYSPACE.md). */
function connectionIn(words: readonly string[]): string | undefined {
  for (const word of words) {
    const [, shard, name] = /:\{([0-9a-f]{2})\}:cn:([A-Za-z0-9_-]+)$/.exec(word) ?? [];
    if (shard !== undefined && name !== undefined) return `cn_${shard}${name}`;
  }
  return undefined;
}
