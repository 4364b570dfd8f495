import { OutboundError, type OutboundFetch } from '@postern/authorization';
import type { CredentialCheckConfig } from '../config/approval-config.ts';
import type { CredentialValues } from './credential-entry.ts';

export type CheckResult = 'accepted' | 'rejected' | 'unavailable';

/**
 * Asks the API that a credential is for whether it works. Any other answer than the configured ones says nothing about it. No value leaves in an error or a log.
 */
export function createCredentialCheck(p: { fetch: OutboundFetch }) {
  return async function check(config: CredentialCheckConfig, values: CredentialValues): Promise<CheckResult> {
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

export type CredentialCheck = ReturnType<typeof createCredentialCheck>;

/** Undefined for a value that cannot stand in a header, hence in no request to this API. */
function headersOf(
  { bearer, basic, header }: CredentialCheckConfig,
  values: CredentialValues,
): Record<string, string> | undefined {
  const value = (field: string) => values[field] ?? '';
  const isHeaderText = (text: string) => /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (basic !== undefined) {
    const pair = `${value(basic.username)}:${value(basic.password)}`;
    return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
  }
  const text = value(bearer ?? header?.field ?? '');
  if (!isHeaderText(text)) return undefined;
  return bearer === undefined ? { [header?.name ?? '']: text } : { authorization: `Bearer ${text}` };
}
