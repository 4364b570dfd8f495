/**
 * A provider with strict rotation, as a separate process. Responds to any message with the number of refresh requests so far.
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
