import { definePreset } from './preset.ts';

/** Workspaces live in one of three regions, each with hosts of its own. */
function intercomIn(region: '' | 'eu' | 'au') {
  const suffix = region === '' ? '' : `.${region}`;
  return definePreset({
    name: region === '' ? 'intercom' : `intercom-${region}`,
    displayName: 'Intercom',
    documentation:
      'https://developers.intercom.com/docs/build-an-integration/learn-more/authentication/setting-up-oauth',
    pkce: 'undocumented',
    scopes: {},
    provider: {
      authorizationEndpoint: `https://app${suffix}.intercom.com/oauth`,
      tokenEndpoint: `https://api${suffix}.intercom.io/auth/eagle/token`,
      userinfoEndpoint: `https://api${suffix}.intercom.io/me`,
      clientAuthentication: 'client_secret_post',
      tokenResponse: { tokenType: 'bearer' },
      account: { from: 'userinfo', idClaim: 'id', nameClaim: 'email' },
    },
    notes: [
      'There are no scopes: permissions are set in the app. Tokens do not expire.',
      'The only way to revoke uninstalls the app for the whole workspace, so revocation is left out.',
    ],
  });
}

export const intercom = intercomIn('');
export const intercomEu = intercomIn('eu');
export const intercomAu = intercomIn('au');
