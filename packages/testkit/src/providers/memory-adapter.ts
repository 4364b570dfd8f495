import type { AdapterFactory, AdapterPayload } from 'oidc-provider';

/** Storage of one provider in process; entries that are over are not found. */
export function createMemoryAdapter(): AdapterFactory {
  const entries = new Map<string, { payload: AdapterPayload; until: number }>();

  return model => {
    const key = (id: string) => `${model}:${id}`;
    const live = (id: string): AdapterPayload | undefined => {
      const entry = entries.get(key(id));
      return entry && entry.until > Date.now() ? entry.payload : undefined;
    };
    const first = (matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined => {
      for (const [id, { payload, until }] of entries) {
        if (id.startsWith(`${model}:`) && until > Date.now() && matches(payload)) return payload;
      }
      return undefined;
    };
    return {
      async upsert(id, payload, expiresIn) {
        const until = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000;
        entries.set(key(id), { payload, until });
      },
      find: async id => live(id),
      findByUid: async uid => first(payload => payload.uid === uid),
      findByUserCode: async userCode => first(payload => payload.userCode === userCode),
      async consume(id) {
        const payload = live(id);
        if (payload) payload.consumed = Math.floor(Date.now() / 1000);
      },
      async destroy(id) {
        entries.delete(key(id));
      },
      async revokeByGrantId(grantId) {
        for (const [id, { payload }] of entries) if (payload.grantId === grantId) entries.delete(id);
      },
    };
  };
}
