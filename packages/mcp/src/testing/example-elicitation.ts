import type { ElicitationBody } from '@postern/api';

export function exampleElicitation(changes: Partial<ElicitationBody> = {}): ElicitationBody {
  return {
    elicitationId: 'el-1',
    kind: 'authorization',
    status: 'pending',
    url: 'https://postern.example.com/e/el-1',
    matchCode: 'K7-42',
    createdAt: new Date(0).toISOString(),
    expiresAt: new Date(4_000_000_000_000).toISOString(),
    ...changes,
  };
}
