import type { AdapterFactory, AdapterPayload } from 'oidc-provider';

export interface AdapterObserver {
  /** Every token of this grant has just been ended. */
  onGrantRevoked?(grantId: string): void;
  /** Whether a consumed refresh token is to look unused, because it is in its grace. */
  isInGrace?(refreshToken: string): boolean;
}

/** Storage of one provider in process; entries that are over are not found. */
export function createMemoryAdapter(observer: AdapterObserver = {}): AdapterFactory {
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
      async find(id) {
        const payload = live(id);
        if (model !== 'RefreshToken' || payload?.consumed === undefined || !observer.isInGrace?.(id)) return payload;
        const { consumed: _, ...unused } = payload;
        return unused;
      },
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
        observer.onGrantRevoked?.(grantId);
      },
    };
  };
}
