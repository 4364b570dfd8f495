import type { Found } from '../checker.ts';
import { type CheckedHistory, isTerminal, mcpServerOf } from './indexed.ts';

interface Told {
  readonly mcpServerId: string;
  readonly eventId: string;
  readonly elicitationId: string;
  readonly kind: string;
  readonly status: string;
  readonly channel: string;
}

/** I3: every end is announced on every channel that there is, under one event id, and nothing else is. */
export function checkAnnouncements(history: CheckedHistory): Found[] {
  const told = toldIn(history);
  return [...checkMissing(history, told), ...checkIds(told), ...checkUnasked(history, told)];
}

function toldIn({ of }: CheckedHistory): Told[] {
  return [
    ...of('event').map(entry => ({ ...entry, channel: 'events' })),
    ...of('delivery')
      // Nobody was told by what was refused.
      .filter(({ answered }) => answered !== undefined && answered >= 200 && answered < 300)
      .map(entry => ({ ...entry, channel: entry.who })),
  ];
}

function checkMissing({ of, acknowledged }: CheckedHistory, told: readonly Told[]): Found[] {
  const channels = Map.groupBy(of('channel'), ({ mcpServerId }) => mcpServerId);
  const byElicitation = Map.groupBy(told, ({ elicitationId }) => elicitationId);
  const ends = new Map(
    of('final').flatMap(({ elicitationId, status }) => (isTerminal(status) ? [[elicitationId, status] as const] : [])),
  );
  const found: Found[] = [];
  for (const [elicitationId, status] of ends) {
    const owner = acknowledged.get(elicitationId)?.mcpServerId;
    if (owner === undefined) continue;
    const own = byElicitation.get(elicitationId) ?? [];
    const wanted = new Set((channels.get(owner) ?? []).map(({ channel }) => channel));
    for (const channel of wanted)
      if (!own.some(each => each.channel === channel && each.status === status))
        found.push({ invariant: 'I3', elicitationId, message: `${status}, and never announced by ${channel}` });
  }
  return found;
}

function checkIds(told: readonly Told[]): Found[] {
  const found: Found[] = [];
  for (const [elicitationId, own] of Map.groupBy(told, each => each.elicitationId)) {
    const ends = own.filter(({ status }) => isTerminal(status));
    const ids = new Set(ends.map(({ eventId }) => eventId));
    if (ids.size > 1)
      found.push({ invariant: 'I3', elicitationId, message: `its end was announced as ${[...ids].join(' and ')}` });
  }
  for (const [eventId, own] of Map.groupBy(told, each => each.eventId)) {
    const meanings = new Set(own.map(each => `${each.elicitationId} ${each.status} ${each.kind} ${each.mcpServerId}`));
    if (meanings.size > 1)
      found.push({ invariant: 'I3', message: `${eventId} announced different things: ${[...meanings].join('; ')}` });
  }
  return found;
}

/** What is announced was issued: acknowledged, or by a request of which nobody knows what became of it. */
function checkUnasked({ calls, acknowledged }: CheckedHistory, told: readonly Told[]): Found[] {
  const answeredKeys = new Set(
    calls.flatMap(({ request, response }) =>
      request.op === 'issue' && response?.elicitationId !== undefined
        ? [`${request.who} ${request.idempotencyKey}`]
        : [],
    ),
  );
  const unknownFate = new Map<string, Set<string>>();
  for (const { request, response } of calls) {
    const mcpServerId = mcpServerOf(request.who);
    if (request.op !== 'issue' || mcpServerId === undefined) continue;
    // Answered: refused for good, or known by its id. Anything else may have been carried out.
    const isRefused = response?.http !== undefined && response.http < 500 && response.http !== 409;
    const name = `${request.who} ${request.idempotencyKey ?? request.call}`;
    if (isRefused || answeredKeys.has(name)) continue;
    const group = `${mcpServerId} ${request.kind}`;
    unknownFate.set(group, (unknownFate.get(group) ?? new Set()).add(name));
  }
  const served = new Set(calls.flatMap(({ response }) => response?.elicitationId ?? []));
  const strangers = new Map<string, Told>();
  for (const each of told)
    if (!acknowledged.has(each.elicitationId) && !served.has(each.elicitationId))
      strangers.set(each.elicitationId, each);
  const found: Found[] = [];
  for (const [group, own] of Map.groupBy(strangers.values(), ({ mcpServerId, kind }) => `${mcpServerId} ${kind}`)) {
    const possible = unknownFate.get(group)?.size ?? 0;
    for (const { elicitationId } of own.slice(possible))
      found.push({ invariant: 'I3', elicitationId, message: 'announced, and never issued' });
  }
  return found;
}
