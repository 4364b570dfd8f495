import { type CheckedHistory, isTerminal, mcpServerOf } from './indexed.ts';
import type { Found } from './violation.ts';

interface Announcement {
  readonly mcpServerId: string;
  readonly eventId: string;
  readonly elicitationId: string;
  readonly kind: string;
  readonly status: string;
  readonly channel: string;
}

/** I3: each end is announced on each channel under one event id, and only issued elicitations are announced. */
export function checkAnnouncements(history: CheckedHistory): Found[] {
  const announcements = announcementsIn(history);
  return [
    ...checkMissing(history, announcements),
    ...checkIds(announcements),
    ...checkUnissued(history, announcements),
  ];
}

function announcementsIn({ of }: CheckedHistory): Announcement[] {
  return [
    ...of('event').map(entry => ({ ...entry, channel: 'events' })),
    ...of('delivery')
      // A refused delivery announces nothing.
      .filter(({ answered }) => answered !== undefined && answered >= 200 && answered < 300)
      .map(entry => ({ ...entry, channel: entry.who })),
  ];
}

function checkMissing({ of, acknowledged }: CheckedHistory, announcements: readonly Announcement[]): Found[] {
  const channels = Map.groupBy(of('channel'), ({ mcpServerId }) => mcpServerId);
  const byElicitation = Map.groupBy(announcements, ({ elicitationId }) => elicitationId);
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

function checkIds(announcements: readonly Announcement[]): Found[] {
  const found: Found[] = [];
  for (const [elicitationId, own] of Map.groupBy(announcements, each => each.elicitationId)) {
    const ends = own.filter(({ status }) => isTerminal(status));
    const ids = new Set(ends.map(({ eventId }) => eventId));
    if (ids.size > 1)
      found.push({ invariant: 'I3', elicitationId, message: `its end was announced as ${[...ids].join(' and ')}` });
  }
  for (const [eventId, own] of Map.groupBy(announcements, each => each.eventId)) {
    const meanings = new Set(own.map(each => `${each.elicitationId} ${each.status} ${each.kind} ${each.mcpServerId}`));
    if (meanings.size > 1)
      found.push({ invariant: 'I3', message: `${eventId} announced different things: ${[...meanings].join('; ')}` });
  }
  return found;
}

/** Announced elicitations were acknowledged or come from an issue whose result is unknown. */
function checkUnissued({ calls, acknowledged }: CheckedHistory, announcements: readonly Announcement[]): Found[] {
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
    // Refused for good, or known by id. Any other issue may have been carried out.
    const isRefused = response?.http !== undefined && response.http < 500 && response.http !== 409;
    const name = `${request.who} ${request.idempotencyKey ?? request.call}`;
    if (isRefused || answeredKeys.has(name)) continue;
    const group = `${mcpServerId} ${request.kind}`;
    unknownFate.set(group, (unknownFate.get(group) ?? new Set()).add(name));
  }
  const served = new Set(calls.flatMap(({ response }) => response?.elicitationId ?? []));
  const unacknowledged = new Map<string, Announcement>();
  for (const each of announcements)
    if (!acknowledged.has(each.elicitationId) && !served.has(each.elicitationId))
      unacknowledged.set(each.elicitationId, each);
  const found: Found[] = [];
  for (const [group, own] of Map.groupBy(
    unacknowledged.values(),
    ({ mcpServerId, kind }) => `${mcpServerId} ${kind}`,
  )) {
    const possible = unknownFate.get(group)?.size ?? 0;
    for (const { elicitationId } of own.slice(possible))
      found.push({ invariant: 'I3', elicitationId, message: 'announced, and never issued' });
  }
  return found;
}
