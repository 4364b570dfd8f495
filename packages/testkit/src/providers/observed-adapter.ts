import { createMemoryAdapter } from '@postern/openid-server';

export interface AdapterObserver {
  /** Called after all tokens of this grant were revoked. */
  onGrantRevoked(grantId: string): void;
  /** Whether the current request revokes a single token and keeps the other tokens of its grant. */
  keepsGrant(): boolean;
  onAccessTokenEnded(accessToken: string): void;
  /** Whether a consumed refresh token must look unused, because its grace lasts. */
  isInGrace(refreshToken: string): boolean;
}

/** The storage of a test provider. Reports ended grants to an observer. */
export function createObservedAdapter(observer: AdapterObserver): ReturnType<typeof createMemoryAdapter> {
  const adapterOf = createMemoryAdapter();

  return model => {
    const adapter = adapterOf(model);
    return {
      ...adapter,
      async find(id) {
        const payload = await adapter.find(id);
        if (model !== 'RefreshToken' || !payload?.consumed || !observer.isInGrace(id)) return payload;
        const { consumed: _, ...unused } = payload;
        return unused;
      },
      async destroy(id) {
        await adapter.destroy(id);
        if (model === 'AccessToken') observer.onAccessTokenEnded(id);
      },
      async revokeByGrantId(grantId) {
        if (observer.keepsGrant()) return;
        await adapter.revokeByGrantId(grantId);
        observer.onGrantRevoked(grantId);
      },
    };
  };
}
