import type { AdapterFactory, AdapterPayload } from 'oidc-provider';

interface Entry {
  readonly model: string;
  readonly payload: AdapterPayload;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** Keeps everything a provider stores in this process: a demo forgets when it stops. */
export function createMemoryAdapter(): AdapterFactory {
  const entries = new Map<string, Entry>();

  return model => {
    const keyOf = (id: string) => `${model}/${id}`;
    const find = (id: string): AdapterPayload | undefined => {
      const entry = entries.get(keyOf(id));
      return entry !== undefined && entry.until > Date.now() ? entry.payload : undefined;
    };
    const findBy = (member: 'uid' | 'userCode', value: string): AdapterPayload | undefined => {
      for (const entry of entries.values()) {
        if (entry.model === model && entry.until > Date.now() && entry.payload[member] === value) return entry.payload;
      }
      return undefined;
    };

    return {
      async upsert(id, payload, expiresIn) {
        const until = expiresIn ? Date.now() + expiresIn * 1000 : Number.POSITIVE_INFINITY;
        entries.set(keyOf(id), { model, payload, until });
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
