import type { EntryOf } from '../history-entry.ts';
import { type CheckedHistory, isTerminal, type Sighting } from './indexed.ts';
import type { Found } from './violation.ts';

/** I1 and I2: an acknowledged elicitation exists, ends and keeps its terminal status. */
export function checkEndings(history: CheckedHistory): Found[] {
  return [...checkFinals(history), ...checkVanished(history), ...checkRepeats(history), ...checkTerminal(history)];
}

/** Every acknowledged elicitation has a final read and a terminal status on which all replicas agree. */
function checkFinals({ acknowledged, of }: CheckedHistory): Found[] {
  const finals = Map.groupBy(of('final'), ({ elicitationId }) => elicitationId);
  const replicas = new Set(of('final').map(({ replica }) => replica));
  const found: Found[] = [];
  for (const elicitationId of acknowledged.keys()) {
    const own = finals.get(elicitationId) ?? [];
    const add = (message: string, invariant: Found['invariant'] = 'I1') =>
      found.push({ invariant, elicitationId, message });
    if (own.length === 0) add('acknowledged, but there is no final read');
    else if (new Set(own.map(({ replica }) => replica)).size < replicas.size)
      add('not read at every replica in the end');
    if (own.some(({ http }) => http === 404)) add('acknowledged, and gone in the end');
    for (const { replica, status } of own)
      if (status !== undefined && !isTerminal(status)) add(`still ${status} in the end, says ${replica}`);
    const views = new Set(own.map(viewOf));
    if (views.size > 1) add(`replicas disagree in the end: ${[...views].join(', ')}`, 'I2');
  }
  return found;
}

const viewOf = ({ http, status, outcome }: EntryOf<'final'>) =>
  [status ?? `HTTP ${http}`, outcome ?? ''].join(' ').trim();

/** An acknowledged elicitation is found by every later call of its MCP server. */
function checkVanished({ acknowledged, calls }: CheckedHistory): Found[] {
  const found: Found[] = [];
  for (const { request, response } of calls) {
    const { elicitationId, op } = request;
    const known = elicitationId === undefined ? undefined : acknowledged.get(elicitationId);
    if (known === undefined || response?.http !== 404 || request.at < known.at) continue;
    if (!['read', 'cancel', 'redeem'].includes(op) || request.who !== `mcp:${known.mcpServerId}`) continue;
    found.push({
      invariant: 'I1',
      elicitationId: known.elicitationId,
      message: `acknowledged at ${known.at}, and unknown to ${op} at ${request.at}`,
    });
  }
  return found;
}

/** One Idempotency-Key leads to one elicitation. */
function checkRepeats({ calls }: CheckedHistory): Found[] {
  const answered = calls.filter(
    ({ request, response }) =>
      request.op === 'issue' &&
      request.idempotencyKey !== undefined &&
      response?.elicitationId !== undefined &&
      (response.http === 201 || response.http === 200),
  );
  const byKey = Map.groupBy(answered, ({ request }) => `${request.who} ${request.idempotencyKey}`);
  return [...byKey.values()].flatMap(own => {
    const ids = [...new Set(own.map(({ response }) => response?.elicitationId ?? ''))];
    const [elicitationId = ''] = ids;
    return ids.length > 1
      ? [{ invariant: 'I1' as const, elicitationId, message: `one Idempotency-Key led to ${ids.join(' and ')}` }]
      : [];
  });
}

/** I2: no observation contradicts an earlier observed end. */
function checkTerminal({ sightings }: CheckedHistory): Found[] {
  const found: Found[] = [];
  for (const [elicitationId, own] of sightings) {
    let end: Sighting | undefined;
    for (const sighting of own) {
      if (end === undefined) {
        if (isTerminal(sighting.status)) end = sighting;
        continue;
      }
      const contradiction = contradictionOf(end, sighting);
      if (contradiction !== undefined) found.push({ invariant: 'I2', elicitationId, message: contradiction });
      // Reads carry the outcome; events and webhooks do not.
      if (end.outcome === undefined && isTerminal(sighting.status)) end = sighting;
    }
  }
  return found;
}

function contradictionOf(end: Sighting, later: Sighting): string | undefined {
  const observed = `${end.status} by ${end.how} at ${end.to}`;
  if (isTerminal(later.status)) {
    if (later.status !== end.status) return `${observed}, then ${later.status} by ${later.how} at ${later.to}`;
    if (end.outcome !== undefined && later.outcome !== undefined && later.outcome !== end.outcome)
      return `${observed}, then with another outcome by ${later.how}`;
    return undefined;
  }
  // Events may be late. A read that began after the end was observed must show the end.
  return later.isReading && later.from > end.to
    ? `${observed}, then ${later.status} by ${later.how} at ${later.from}`
    : undefined;
}
