import { OutboundError, type OutboundFetch } from '@postern/authorization';
import type { CredentialCheckConfig } from '../config/approval-config.ts';
import type { CredentialValues } from './credential-entry.ts';

export type CheckResult = 'accepted' | 'rejected' | 'unavailable';

/**
 * Asks the API that a credential is for whether it works. Any other answer than the configured ones says nothing about it. No value
 * leaves in an error or a log.
 */
export function createCredentialCheck(p: { fetch: OutboundFetch }) {
  return async function check(config: CredentialCheckConfig, values: CredentialValues): Promise<CheckResult> {
    // Asked before there was such a check. It says nothing about what is not there.
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

/** Of the credential that is configured as `name`. */
export type CredentialCheck = (
  config: CredentialCheckConfig,
  values: CredentialValues,
  name: string,
) => Promise<CheckResult>;

export const isUnavailable = (result: CheckResult): boolean => result === 'unavailable';

/** The fields of a credential whose values the check sends. */
export function fieldsSentBy({ bearer, basic, header }: CredentialCheckConfig): readonly string[] {
  if (basic !== undefined) return [basic.username, basic.password];
  return [bearer ?? header?.field ?? ''];
}

/** Undefined for a value that cannot stand in a header, hence in no request to this API. */
function headersOf(
  { bearer, basic, header }: CredentialCheckConfig,
  values: CredentialValues,
): Record<string, string> | undefined {
  const value = (field: string) => (Object.hasOwn(values, field) ? (values[field] ?? '') : '');
  const isHeaderText = (text: string) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (basic !== undefined) {
    const username = value(basic.username);
    // RFC 7617 section 2: the first colon ends the name, so that this would be another pair.
    if (username.includes(':')) return undefined;
    return { authorization: `Basic ${Buffer.from(`${username}:${value(basic.password)}`).toString('base64')}` };
  }
  const text = value(bearer ?? header?.field ?? '');
  if (!isHeaderText(text)) return undefined;
  return bearer === undefined ? { [header?.name ?? '']: text } : { authorization: `Bearer ${text}` };
}
