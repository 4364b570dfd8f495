import { OutboundError, type OutboundFetch } from '@postern/authorization';
import type { CredentialCheckConfig } from '../platform/config/mcp-server-config.ts';
import type { CredentialValues } from './credential-entry.ts';

export type CheckResult = 'accepted' | 'rejected' | 'unavailable';

/**
 * Sends the credential to its API to check it. A status that is not configured counts as `unavailable`. Values never appear in errors or
 * logs.
 */
export function createCredentialCheck(p: { fetch: OutboundFetch }) {
  return async function check(config: CredentialCheckConfig, values: CredentialValues): Promise<CheckResult> {
    // The elicitation was issued before this check was configured, and lacks its fields.
    if (!fieldsSentBy(config).every(field => Object.hasOwn(values, field))) return 'unavailable';
    const headers = headersOf(config, values);
    if (headers === undefined) return 'rejected';
    let response: Pick<Response, 'status'>;
    try {
      response = await p.fetch(config.url, { method: config.method, headers });
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return 'unavailable';
    }
    if (config.accepted.includes(response.status)) return 'accepted';
    return config.rejected.includes(response.status) ? 'rejected' : 'unavailable';
  };
}

/** Checks a credential. `name` identifies the configured check. */
export type CredentialCheck = (
  config: CredentialCheckConfig,
  values: CredentialValues,
  name: string,
) => Promise<CheckResult>;

export const isUnavailable = (result: CheckResult): boolean => result === 'unavailable';

/** Returns the fields of a credential that the check sends. */
export function fieldsSentBy({ bearer, basic, header }: CredentialCheckConfig): readonly string[] {
  if (basic !== undefined) return [basic.username, basic.password];
  return [bearer ?? header?.field ?? ''];
}

/** Returns undefined for a value that is not allowed in a header. */
function headersOf(
  { bearer, basic, header }: CredentialCheckConfig,
  values: CredentialValues,
): Record<string, string> | undefined {
  const value = (field: string) => (Object.hasOwn(values, field) ? (values[field] ?? '') : '');
  const isHeaderText = (text: string) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (basic !== undefined) {
    const username = value(basic.username);
    // RFC 7617 section 2: the first colon ends the username, so the API would read another pair.
    if (username.includes(':')) return undefined;
    return { authorization: `Basic ${Buffer.from(`${username}:${value(basic.password)}`).toString('base64')}` };
  }
  const text = value(bearer ?? header?.field ?? '');
  if (!isHeaderText(text)) return undefined;
  return bearer === undefined ? { [header?.name ?? '']: text } : { authorization: `Bearer ${text}` };
}
