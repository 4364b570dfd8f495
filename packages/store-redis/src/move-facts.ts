import { type Elicitation, isCharging, isRedeemable, type TransitionElicitation } from '@postern/elicitation';

const ends: ReadonlySet<string> = new Set(['completed', 'failed', 'declined', 'cancelled', 'expired']);
export const isEnd = (status: Elicitation['status']) => ends.has(status);

/** What a move leaves behind, as far as it matters for lifetimes and for the ask. */
export function leftBy({
  current,
  next,
}: TransitionElicitation): 'open' | 'charging' | 'reopened' | 'ended' | 'redeemable' {
  if (next.status === 'completed') return isRedeemable(current.request) ? 'redeemable' : 'ended';
  if (isEnd(next.status)) return 'ended';
  if (next.status === 'active' && next.approval !== undefined) return 'charging';
  return isCharging(current) ? 'reopened' : 'open';
}
