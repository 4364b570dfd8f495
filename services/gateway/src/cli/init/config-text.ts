import type { InitOptions } from './init-options.ts';

/** A text as YAML: every JSON string is one. */
const quoted = (text: string): string => JSON.stringify(text);

/** References to the environment, by preset. */
export const providerVariables = (preset: string): { readonly id: string; readonly secret: string } => {
  const prefix = preset.toUpperCase().replaceAll('-', '_');
  return { id: `${prefix}_CLIENT_ID`, secret: `${prefix}_CLIENT_SECRET` };
};

/** The name of the identity provider in redirect URIs. */
const IDENTITY_PROVIDER = 'company';
export const IDENTITY_PROVIDER_SECRET = 'IDENTITY_PROVIDER_CLIENT_SECRET';

export interface ConfigParts {
  readonly options: InitOptions;
  /** Absolute. */
  readonly vaultKeyPath: string;
  readonly kid: string;
  readonly apiKeyHash: string;
}

/** Returns `postern.config.yaml`, with comments. */
export function configText({ options, vaultKeyPath, kid, apiKeyHash }: ConfigParts): string {
  const { publicUrl, providers } = options;
  return `# The configuration of the Postern gateway. Every text may refer to \${env:NAME} or \${file:path}.
# All settings: the README of @postern/gateway. With an invalid file, the gateway does not start and names each fault.

# The URL under which browsers and MCP servers reach the gateway.
publicUrl: ${quoted(publicUrl)}

${listenText(options)}

${storeText(options)}

# This key seals everything secret in the store. Keep a copy where the store and its backups are not: without it, connections are lost.
vault:
  keys:
    - kid: ${quoted(kid)}
      key: ${quoted(`\${file:${vaultKeyPath}}`)}
${identityProviderText(options)}
${providersText(options)}
mcpServers:
    # Part of redirect URIs and stored connections. Never change it.
  - id: ${quoted(options.mcpServer)}
    # Users see the name, and the host of the URL.
    name: ${quoted(options.name)}
    url: ${quoted(options.mcpUrl)}
    # The hash of its API key. The key itself belongs to the MCP server alone.
    apiKeys:
      - hash: ${quoted(apiKeyHash)}
${identityText(options)}
    providers: [${providers.map(quoted).join(', ')}]
    # Kinds that it may request. Payments need limits, in the minor unit of the currency:
    # payment:
    #   processors: [none]
    #   maxAmount: { EUR: 5000 }
    #   payees: [Example Books]
`;
}

function storeText({ mode }: InitOptions): string {
  return mode === 'loopback'
    ? `# The state of the gateway. Back it up while the gateway does not run.
store:
  file: .postern/postern.sqlite`
    : `# The state of the gateway, which all its replicas share. REDIS_URL replaces it.
redis:
  url: redis://localhost:6379`;
}

function listenText({ mode, publicUrl }: InitOptions): string {
  const { protocol, port } = new URL(publicUrl);
  const ownPort = protocol === 'http:' ? port || '80' : '8080';
  if (mode === 'loopback')
    return `# Only this machine reaches the gateway.
listen:
  host: 127.0.0.1
  port: ${ownPort}`;
  return `# Where the gateway listens. Your reverse proxy forwards ${publicUrl} to it, and terminates TLS.
listen:
  host: 127.0.0.1
  port: ${ownPort}

# Addresses of your reverse proxy: the gateway trusts X-Forwarded-For from them.
trustProxy: [127.0.0.1]`;
}

function identityProviderText(options: InitOptions): string {
  if (options.mode !== 'login') return '';
  const { clientSecretFile: file, publicUrl } = options;
  return `
# Where your users sign in. Register this redirect URI there, and the second as post-logout redirect URI:
#   ${new URL(publicUrl).origin}/login/callback/${IDENTITY_PROVIDER}
#   ${new URL(publicUrl).origin}/logout/callback/${IDENTITY_PROVIDER}
identityProviders:
  - name: ${IDENTITY_PROVIDER}
    issuer: ${quoted(options.issuer)}
    clientId: ${quoted(options.clientId)}
    clientSecret: ${quoted(file === undefined ? `\${env:${IDENTITY_PROVIDER_SECRET}}` : `\${file:${file}}`)}
    # Users are named by the claim sub, which must be the same in ID tokens and in the access tokens of the MCP server. At Entra ID it is not:
    # subjectClaim: tid+oid
`;
}

function providersText({ providers, publicUrl, mcpServer }: InitOptions): string {
  const redirect = (name: string) => `${new URL(publicUrl).origin}/callback/${mcpServer}/${name}`;
  if (providers.length === 0)
    return `# Providers: services where users have accounts. Register ${redirect('github')} at GitHub.
# providers:
#   - name: github
#     preset: github
#     clientId: \${env:GITHUB_CLIENT_ID}
#     clientSecret: \${env:GITHUB_CLIENT_SECRET}

# The MCP servers that may call this gateway.`;
  const entries = providers.map(preset => {
    const { id, secret } = providerVariables(preset);
    return `  # Redirect URI to register there: ${redirect(preset)}
  - name: ${quoted(preset)}
    preset: ${quoted(preset)}
    clientId: \${env:${id}}
    clientSecret: \${env:${secret}}
`;
  });
  return `# Services where users have accounts.
providers:
${entries.join('')}
# The MCP servers that may call this gateway.`;
}

function identityText(options: InitOptions): string {
  switch (options.mode) {
    case 'loopback':
      return `${issuersText(options)}
    # Users do not sign in: the machine has one user.
    identity: { mode: loopback }`;
    case 'login':
      return '    # The gateway signs its users in at the identity provider above.';
    case 'external':
      return `${issuersText(options)}
    # Your application identifies users: its page at this URL calls POST /v1/elicitations/{id}/verify.
    identity:
      mode: external
      verifyUrl: ${quoted(options.verifyUrl)}`;
  }
}

const issuersText = ({ issuer }: InitOptions): string =>
  `    # The MCP server may ask users of these issuers.
    issuers: [${quoted(issuer)}]`;
