import { setTimeout as delay } from 'node:timers/promises';
import { terminalStatuses } from '@postern/api';
import type { FaultWorld } from '../fault-world.ts';
import type { SeededRandom } from '../random.ts';
import type { FaultRun } from '../scenario.ts';
import { type Ask, askOf, type TrafficKind } from './asks.ts';
import { type Caller, digestOf } from './caller.ts';
import { formsIn, type Person } from './person.ts';

export interface FlowParts {
  readonly run: FaultRun;
  readonly world: FaultWorld;
  readonly caller: Caller;
  /** Another MCP server, which must not learn anything. */
  readonly stranger: Caller;
  readonly person: Person;
  readonly passerBy: Person;
  readonly kind: TrafficKind;
  readonly name: string;
  /** Lifetime of elicitations that are left to expire. */
  readonly ttlSeconds: number;
  readonly shares: FlowShares;
}

/** Probability of each behaviour; all other users accept. */
export interface FlowShares {
  readonly decline: number;
  /** Opens the page at most, then leaves. */
  readonly walkAway: number;
  readonly doubleClick: number;
  readonly reload: number;
  /** The MCP server uses a waiting read instead of reading afterwards. */
  readonly wait: number;
  /** Another person opens the link, and another MCP server reads. */
  readonly intrude: number;
  /** Disconnects at once, so that the next request needs the user again. */
  readonly disconnect: number;
}

export const usualShares: FlowShares = {
  decline: 0.12,
  walkAway: 0.12,
  doubleClick: 0.15,
  reload: 0.2,
  wait: 0.5,
  intrude: 0.08,
  disconnect: 0.7,
};

export interface FlowEnd {
  readonly elicitationId: string | undefined;
  readonly status: string | undefined;
}

const terminal: ReadonlySet<string> = new Set(terminalStatuses);
const TRIES = 8;

/** One elicitation from issue to end, with users and callers. */
export async function runFlow(parts: FlowParts): Promise<FlowEnd> {
  const { run, world, caller, person, kind, name, shares } = parts;
  const random = run.random.fork(name);
  const ask = askOf(run, world, { kind, name, subject: person.sub, ttlSeconds: parts.ttlSeconds });
  const issued = await caller.issue(
    ask.body,
    { idempotencyKey: digestOf([run.seed, name]), subject: person.sub },
    random,
  );
  if (issued === undefined) return { elicitationId: undefined, status: undefined };
  const { elicitationId } = issued;
  if (terminal.has(issued.status)) {
    // An existing connection is returned. Some users disconnect it, so that the next request needs them again.
    if (issued.outcome?.kind === 'authorization' && random.chance(shares.disconnect))
      await disconnect(caller, issued.outcome.connectionId, random);
    return { elicitationId, status: issued.status };
  }
  if (random.chance(shares.intrude)) await intrude(parts, elicitationId, random);
  const choice = random.below(1000) / 1000;
  const walksAway = choice < shares.walkAway;
  const waiting =
    !walksAway && random.chance(shares.wait) ? caller.read(elicitationId, random.fork('wait'), 5) : undefined;
  if (walksAway) {
    if (random.chance(0.5)) await person.glance(elicitationId);
  } else await decide(parts, elicitationId, ask, { random, declines: choice < shares.walkAway + shares.decline });
  await waiting;
  const { status } = (await caller.read(elicitationId, random)) ?? {};
  if (status === 'completed') await take(parts, elicitationId, ask, random);
  else if (status === 'pending' && random.chance(0.5)) await cancel(caller, elicitationId, random);
  return { elicitationId, status };
}

/** Repeats until the page has no decision left or the retries are used up. */
async function decide(
  { person, kind, shares }: FlowParts,
  elicitationId: string,
  { typed }: Ask,
  { random, declines }: { readonly random: SeededRandom; readonly declines: boolean },
): Promise<void> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const seen = await person.look(elicitationId, random);
    const forms = seen === undefined ? undefined : formsIn(seen);
    if (forms === undefined) return;
    if (declines) await person.press({ op: 'decline', elicitationId, form: forms.decline });
    else if (kind === 'authorization')
      await person.authorize(elicitationId, forms.accept, { random, decision: random.chance(0.05) ? 'deny' : 'allow' });
    else {
      const fields = Object.fromEntries(Object.entries(typed).map(([field, value]) => [`field.${field}`, value]));
      const form = { ...forms.accept, ...fields };
      const clicks = random.chance(shares.doubleClick) ? 2 : 1;
      await Promise.all(Array.from({ length: clicks }, () => person.press({ op: 'accept', elicitationId, form })));
    }
    if (random.chance(shares.reload)) await person.glance(elicitationId);
    await delay(10 * (attempt - 1));
  }
}

/** Redeems single-use results, and retries in all ways in which callers do. */
async function take(
  { run, world, caller, person, kind, shares }: FlowParts,
  elicitationId: string,
  ask: Ask,
  random: SeededRandom,
) {
  const { history } = run;
  const read = await caller.read(elicitationId, random);
  const outcome = read?.outcome;
  if (outcome?.kind === 'payment' || outcome?.kind === 'confirmation')
    history.record({
      who: `mcp:${caller.mcpServerId}`,
      what: 'approval',
      elicitationId,
      approval: digestOf(outcome.approval),
    });
  if (kind === 'authorization') {
    if (outcome?.kind === 'authorization') {
      await takeToken(
        { run, world, caller },
        { elicitationId, connectionId: outcome.connectionId, subject: person.sub },
        random,
      );
      if (random.chance(shares.disconnect)) await disconnect(caller, outcome.connectionId, random);
    }
    return;
  }
  const key = digestOf([run.seed, elicitationId]);
  // Two workers of one MCP server, unknown to each other.
  const keys = random.chance(0.1) ? [key, `${key}-other`] : [key];
  await Promise.all(keys.map(each => redeem({ run, caller }, elicitationId, each, ask, random.fork(each))));
}

/** @throws if the returned value differs from the typed one */
async function redeem(
  { run, caller }: Pick<FlowParts, 'run' | 'caller'>,
  elicitationId: string,
  idempotencyKey: string,
  { typed }: Pick<Ask, 'typed'>,
  random: SeededRandom,
): Promise<void> {
  const path = `/v1/elicitations/${elicitationId}/redeem`;
  const answer = await caller.insist(
    { op: 'redeem', method: 'POST', path, elicitationId, idempotencyKey, isSecret: true },
    random,
  );
  if (answer?.http !== 200) return;
  const { values, content } = answer.body as { values?: Record<string, unknown>; content?: Record<string, unknown> };
  const given = values ?? content ?? {};
  for (const name of ['api_key', 'name'])
    if (typed[name] !== undefined && given[name] !== typed[name])
      throw new Error(`the value differs from the typed one: ${elicitationId}`);
  run.history.record({ who: `mcp:${caller.mcpServerId}`, what: 'effect', elicitationId, effect: idempotencyKey });
}

export async function takeToken(
  { run, world, caller }: Pick<FlowParts, 'run' | 'world' | 'caller'>,
  { elicitationId, connectionId, subject }: { elicitationId: string; connectionId: string; subject: string },
  random: SeededRandom,
): Promise<void> {
  const path = `/v1/connections/${connectionId}/access-token`;
  const answer = await caller.insist(
    { op: 'access_token', method: 'POST', path, connectionId, isSecret: true },
    random,
  );
  const token = answer?.body['accessToken'];
  if (answer?.http !== 200 || typeof token !== 'string') return;
  run.history.secret('access token', token);
  const issued = world.world.provider.tokens.accessToken(token);
  run.history.record({
    who: `mcp:${caller.mcpServerId}`,
    what: 'token_set',
    elicitationId,
    connectionId,
    grantId: issued?.grantId ?? 'unknown',
    exchange: String(issued?.chain ?? 'unknown'),
    account: issued?.accountId ?? 'unknown',
    expectedAccount: subject,
  });
}

async function disconnect(caller: Caller, connectionId: string, random: SeededRandom): Promise<void> {
  await caller.insist(
    { op: 'disconnect', method: 'DELETE', path: `/v1/connections/${connectionId}`, connectionId },
    random,
  );
}

export async function cancel(caller: Caller, elicitationId: string, random: SeededRandom) {
  const path = `/v1/elicitations/${elicitationId}/cancel`;
  return caller.insist({ op: 'cancel', method: 'POST', path, elicitationId }, random);
}

/** Tries the link and the id as another party. The checker verifies from the responses that it learns nothing. */
async function intrude({ stranger, passerBy }: FlowParts, elicitationId: string, random: SeededRandom): Promise<void> {
  await stranger.read(elicitationId, random);
  const seen = await passerBy.look(elicitationId, random);
  const forms = seen === undefined ? undefined : formsIn(seen);
  if (forms !== undefined) await passerBy.press({ op: 'accept', elicitationId, form: forms.accept });
}
