import type { AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly model: string;
  readonly payload: AdapterPayload;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Stores the state of one OpenID provider in memory. Expired entries are not found. */
export function createMemoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>();

  return model => {
    const keyOf = (id: string) => `${model}/${id}`;
    const find = (id: string): AdapterPayload | undefined => {
      const entry = entries.get(keyOf(id));
      return entry !== undefined && entry.expiresAt > Date.now() ? entry.payload : undefined;
    };
    const findBy = (member: 'uid' | 'userCode', value: string): AdapterPayload | undefined => {
      for (const entry of entries.values()) {
        if (entry.model === model && entry.expiresAt > Date.now() && entry.payload[member] === value)
          return entry.payload;
      }
      return undefined;
    };

    return {
      async upsert(id, payload, expiresIn) {
        const expiresAt = expiresIn === undefined ? Number.POSITIVE_INFINITY : Date.now() + expiresIn * 1000;
        entries.set(keyOf(id), { model, payload, expiresAt });
      },
      find: async id => find(id),
      findByUid: async uid => findBy('uid', uid),
      findByUserCode: async userCode => findBy('userCode', userCode),
      async consume(id) {
        const payload = find(id);
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
      },
      async destroy(id) {
        entries.delete(keyOf(id));
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key);
      },
    };
  };
}
