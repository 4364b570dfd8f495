import type { CheckedHistory } from './indexed.ts';
import type { Found } from './violation.ts';

/** I4: single-use operations happened once. */
export function checkOnceOnly({ of }: CheckedHistory): Found[] {
  const found: Found[] = [];
  const once = (what: string, entries: readonly { elicitationId: string; value: string }[]) => {
    for (const [elicitationId, own] of Map.groupBy(entries, entry => entry.elicitationId)) {
      const values = new Set(own.map(({ value }) => value));
      if (values.size > 1) found.push({ invariant: 'I4', elicitationId, message: `${values.size} ${what}` });
    }
  };
  once(
    'approvals',
    of('approval').map(entry => ({ ...entry, value: entry.approval })),
  );
  once(
    'charges',
    of('charge').map(entry => ({ ...entry, value: entry.charge })),
  );
  once(
    'redemptions',
    of('effect').map(entry => ({ ...entry, value: entry.effect })),
  );
  once(
    'token sets',
    of('token_set').map(entry => ({ ...entry, value: entry.exchange })),
  );
  once(
    'connections',
    of('token_set').map(entry => ({ ...entry, value: entry.connectionId })),
  );
  for (const { subject, mcpServerId, list } of of('connections'))
    for (const [provider, own] of Map.groupBy(list, each => each.provider))
      if (own.length > 1)
        found.push({
          invariant: 'I4',
          message: `${own.length} connections of ${subject} at ${provider} for ${mcpServerId}`,
        });
  const issued = new Set(of('token_issued').map(({ grantId }) => grantId));
  for (const { elicitationId, grantId } of of('token_set'))
    if (!issued.has(grantId))
      found.push({ invariant: 'I4', elicitationId, message: 'a token of a grant that the provider never issued' });
  return found;
}
