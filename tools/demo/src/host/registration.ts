/** How the terminal host is registered at Example ID: a public client, redirected to any loopback port (RFC 8252 section 7.3). */
export const HOST_CLIENT_ID = 'terminal-host';
export const HOST_REDIRECT_PATH = '/callback';
