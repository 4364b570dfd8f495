import { type Clock, hourOf, type Stores } from '@postern/elicitation';
import type { Caller } from './registered-mcp-server.ts';

export type NoteApiKeyUse = (caller: Caller) => void;

/**
 * Notes the last use of API keys, to the hour: at most one write per key, hour and replica. No request waits for it, and while Redis is
 * unavailable uses are missing.
 */
export function createApiKeyUses(p: {
  readonly keyAges: Pick<Stores['keyAges'], 'noteUse'>;
  readonly now: Clock;
}): NoteApiKeyUse {
  const noted = new Map<string, number>();
  return ({ apiKey }) => {
    if (apiKey === undefined) return;
    const { apiKeyId } = apiKey;
    const { at } = hourOf(p.now());
    if (noted.get(apiKeyId) === at) return;
    noted.set(apiKeyId, at);
    p.keyAges.noteUse(apiKeyId, at).catch(() => noted.delete(apiKeyId));
  };
}
