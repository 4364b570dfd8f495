import { type CallerBody, CONTRACT_REVISION } from '@postern/api';
import { calculateJwkThumbprint, type JWK } from 'jose';

/** The registration of an MCP server that may ask for everything, as the gateway describes it. */
export async function exampleCaller(publicUrl: string, encryptionKey?: JWK): Promise<CallerBody> {
  const settings = { defaultScopes: [], flow: 'redirect' as const, dpop: false };
  return {
    mcpServerId: 'tracker',
    name: 'Issue Tracker',
    url: 'https://tracker.example/mcp',
    gateway: { version: '0.1.0', contract: CONTRACT_REVISION, publicUrl },
    kinds: ['authorization', 'payment', 'credential', 'confirmation', 'form'],
    providers: [
      { name: 'forge', displayName: 'Code Forge', ...settings },
      { name: 'wiki', displayName: 'Wiki', ...settings },
      { name: 'github', displayName: 'GitHub', ...settings },
      { name: 'gitlab', displayName: 'GitLab', ...settings },
    ],
    issuers: ['https://id.example', 'https://idp.example.com'],
    audience: ['https://tracker.example/mcp'],
    identity: { mode: 'login' },
    returnUrls: [],
    limits: { requestsPerMinute: 6000, elicitationsPerSubject: 30, subjectWindowSeconds: 600, maxTtlSeconds: 86_400 },
    ...(encryptionKey && {
      encryption: { thumbprint: await calculateJwkThumbprint(encryptionKey), required: false },
    }),
  };
}
