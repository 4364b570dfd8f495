/**
 * A provider with strict rotation, as a process of its own. Asked with any message, it answers how often a refresh token was
 * brought to it so far.
 */
import { startOpenIdProvider } from '@postern/testkit/providers';
import { FORGE_CLIENT } from '../support/forge.ts';

const provider = await startOpenIdProvider({
  name: 'Code Forge',
  clients: [{ ...FORGE_CLIENT, redirectUris: [FORGE_CLIENT.redirectUri] }],
  scopes: ['repo', 'issues'],
  refreshTokens: 'rotate-strict',
});
process.on('message', () => {
  const refreshes = provider.requests('token').filter(({ form }) => form['grant_type'] === 'refresh_token').length;
  process.send?.({ refreshes });
});
process.once('SIGTERM', () => process.exit(0));
process.send?.({ issuer: provider.issuer });
