import { type CheckedHistory, mcpServerOf, personOf } from './indexed.ts';
import type { Found } from './violation.ts';

/** I5 and I6: no secret leaves, and no party reaches records of others. Also reports responses outside the contract. */
export function checkBoundaries(history: CheckedHistory): Found[] {
  const { of, calls } = history;
  const found: Found[] = of('leak').map(({ secret, where }) => ({
    invariant: 'I5',
    message: `${secret} in ${where}`,
  }));
  for (const { request, response } of calls) {
    const { http } = response ?? {};
    if (http !== undefined && http >= 500 && ![502, 503, 504].includes(http))
      found.push({
        invariant: 'contract',
        message: `HTTP ${http} to ${request.op} at ${request.to}, call ${request.call}`,
      });
  }
  return [...found, ...checkTenants(history), ...checkPeople(history)];
}

function checkTenants({ calls, acknowledged, of }: CheckedHistory): Found[] {
  const found: Found[] = [];
  const foreign = (who: string | undefined, elicitationId: string | undefined): string | undefined => {
    const owner = elicitationId === undefined ? undefined : acknowledged.get(elicitationId)?.mcpServerId;
    return owner !== undefined && who !== undefined && owner !== who ? owner : undefined;
  };
  const add = (who: string | undefined, elicitationId: string | undefined, how: string) => {
    const owner = foreign(who, elicitationId);
    if (owner !== undefined && elicitationId !== undefined)
      found.push({ invariant: 'I6', elicitationId, message: `of ${owner}, and ${how} ${who}` });
  };
  for (const { request, response } of calls) {
    if (response?.http === undefined || response.http >= 300) continue;
    add(mcpServerOf(request.who), response.elicitationId ?? request.elicitationId, `${request.op} answered`);
  }
  for (const { mcpServerId, elicitationId } of of('event')) add(mcpServerId, elicitationId, 'announced to');
  for (const { mcpServerId, elicitationId } of of('delivery')) add(mcpServerId, elicitationId, 'delivered to');
  return found;
}

function checkPeople({ calls, acknowledged, of }: CheckedHistory): Found[] {
  const found: Found[] = [];
  for (const { request, response } of calls) {
    const person = personOf(request.who);
    const { elicitationId } = request;
    const known = elicitationId === undefined ? undefined : acknowledged.get(elicitationId);
    if (person === undefined || known?.subject === undefined || known.subject === person) continue;
    const isMove = request.op === 'accept' || request.op === 'decline';
    const { http } = response ?? {};
    if (response?.shown === true || (isMove && http !== undefined && http < 400))
      found.push({
        invariant: 'I6',
        elicitationId: known.elicitationId,
        message: `of ${known.subject}, and ${request.op} answered ${http} to ${person}`,
      });
  }
  for (const { account, expectedAccount, elicitationId } of of('token_set'))
    if (account !== expectedAccount)
      found.push({ invariant: 'I6', elicitationId, message: `a token of ${account} for ${expectedAccount}` });
  return found;
}
