import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { AuthorizationError, createAccessTokenVerifier, issuerNamed, type OutboundFetch } from '@postern/authorization';
import { decodeJwt, type JWTPayload } from 'jose';
import type { GatewayConfig } from '../../platform/config/config-schema.ts';
import { CliError } from '../cli-io.ts';
import { type Finding, failed, ok, warning } from './findings.ts';
import { outsideFault } from './server-checks.ts';

const CHECK = 'token';
/** Bytes. Larger than any token that the gateway accepts. */
const MAX_TOKEN = 65_536;

/** Reads a token from a file, or from standard input for `-`. Never from an argument, which other processes can read. @throws CliError */
export function readToken(file: string): string {
  if (file === '-' && isatty(0)) throw new CliError('Pipe the token into the command: a terminal would keep it.');
  try {
    const token = readFileSync(file === '-' ? 0 : file, 'utf8').trim();
    if (token.length > 0 && token.length <= MAX_TOKEN) return token;
  } catch {
    throw new CliError(`--token-file: ${file} cannot be read.`);
  }
  throw new CliError('--token-file: the file holds no token.');
}

/**
 * Shows which user an MCP access token stands for, at each MCP server that may present it, or why it is refused. The verification is
 * that of the API; only the explanation reads the token again.
 */
export async function checkToken(
  token: string,
  p: { readonly config: GatewayConfig; readonly fetch: OutboundFetch; readonly now: () => number },
): Promise<readonly Finding[]> {
  const { config, fetch, now } = p;
  const verifier = createAccessTokenVerifier({ ...config, fetchFor: () => fetch, now });
  const findings: Finding[] = [];
  for (const mcpServer of config.mcpServers) {
    const { id, url, audiences, issuers } = mcpServer;
    const audience = audiences.length > 0 ? audiences : [url];
    try {
      const { issuer, subject } = await verifier.verify(token, { allowedIssuers: issuers, audience });
      findings.push(ok(CHECK, `${id} accepts it: user "${subject.slice(0, 255)}" of ${issuer}.`));
    } catch (error) {
      findings.push(
        failed(CHECK, `${id} refuses it. ${refusalOf(error, token, { config, mcpServer, audience, now })}`),
      );
    }
  }
  // A token is for some MCP servers only.
  return findings.some(({ status }) => status === 'ok')
    ? findings.map(finding => (finding.status === 'failed' ? warning(CHECK, finding.message) : finding))
    : findings;
}

function refusalOf(error: unknown, token: string, p: Parameters<typeof reasonIn>[1]): string {
  if (!(error instanceof AuthorizationError)) throw error;
  if (error.code !== 'invalid_access_token' && error.code !== 'issuer_not_allowed') return outsideFault(error);
  let claims: JWTPayload;
  try {
    claims = decodeJwt(token);
  } catch {
    return 'It is not a JWT. The gateway verifies JWT access tokens (RFC 9068) only.';
  }
  return reasonIn(claims, p);
}

/** The first reason, in the order in which an operator can fix them. Quotes names and times, never the token. */
function reasonIn(
  { iss, aud, exp, nbf }: JWTPayload,
  p: {
    readonly config: GatewayConfig;
    readonly mcpServer: GatewayConfig['mcpServers'][number];
    readonly audience: readonly string[];
    readonly now: () => number;
  },
): string {
  const { config, mcpServer, audience, now } = p;
  const issuer = quoted(iss);
  const identityProvider = config.identityProviders.find(candidate => issuerNamed(candidate, iss) !== undefined);
  const known = identityProvider && issuerNamed(identityProvider, iss);
  if (identityProvider === undefined || known === undefined)
    return `Its issuer ${issuer} is no identityProviders[].issuer.`;
  const { name, accessTokens } = identityProvider;
  if (!mcpServer.issuers.includes(known)) return `Its issuer ${issuer} is not in issuers.`;
  if (accessTokens === undefined) return `The identity provider ${name} has no accessTokens section.`;
  const audiences = [aud ?? []].flat();
  if (audiences.includes(identityProvider.clientId)) return 'It is an ID token: its audience is the clientId.';
  const accepted = [accessTokens.audience ?? [], audience].flat();
  if (!audiences.some(each => accepted.includes(each)))
    return `Its audience is ${audiences.map(quoted).join(', ') || 'missing'}, and must be one of ${accepted.join(', ')}.`;
  if (exp === undefined) return 'It has no expiry (exp).';
  if (exp * 1_000 <= now()) return `It expired at ${timeOf(exp)}.`;
  if (nbf !== undefined && nbf * 1_000 > now()) return `It is valid only from ${timeOf(nbf)}: compare the clocks.`;
  const claim = accessTokens.subjectClaim ?? identityProvider.subjectClaim;
  return `Its signature, its typ or its claim ${claim} (the subjectClaim) is not valid.`;
}

const quoted = (text: unknown): string => (typeof text === 'string' ? JSON.stringify(text.slice(0, 200)) : 'missing');

function timeOf(seconds: number): string {
  const date = new Date(seconds * 1_000);
  return Number.isNaN(date.getTime()) ? 'an invalid time' : date.toISOString();
}
