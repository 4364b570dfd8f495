import { createCookieJar } from './cookie-jar.ts';
import { type DriveOptions, decide } from './drive-authorization.ts';
import { hiddenFields, walkPages } from './drive-pages.ts';

export interface DeviceDriveOptions extends DriveOptions {
  /** Default `code`, on the page that shows the user code again; `consent`: only after having signed in. */
  readonly denyAt?: 'code' | 'consent';
}

/**
 * Plays the user of the device flow (RFC 8628 section 3.3): opens the page, types the code unless the URL contains it, confirms
 * it, signs in and consents, or cancels.
 *
 * @param verification `verification_uri` with the code to type, or `verification_uri_complete` alone
 * @returns `refused`: the code is unknown, expired or used.
 */
export async function driveDevice(
  verification: { verificationUri: string; userCode?: string },
  user: string,
  options: DeviceDriveOptions = {},
): Promise<'approved' | 'denied' | 'refused'> {
  const { decision = 'allow', denyAt = 'code' } = options;
  let hasTyped = false;
  const end = await walkPages(verification.verificationUri, options.jar ?? createCookieJar(), page => {
    const hidden = new URLSearchParams(hiddenFields(page));
    if (page.includes('id="op.deviceInputForm"')) {
      if (hasTyped || page.includes('id="error"')) return undefined;
      hasTyped = true;
      hidden.set('user_code', verification.userCode ?? '');
      return hidden;
    }
    if (page.includes('id="op.deviceConfirmForm"') && decision === 'deny' && denyAt === 'code') {
      hidden.set('abort', 'yes');
      return hidden;
    }
    if (hidden.size > 0) return hidden;
    const isConsent = page.includes('id="account"');
    return decide(page, user, { ...options, decision: decision === 'deny' && isConsent ? 'deny' : 'allow' });
  });
  if (!('page' in end)) throw new Error('the provider redirects to another origin');
  if (end.page.includes('id="connected"')) return 'approved';
  return end.page.includes('AbortedError') ? 'denied' : 'refused';
}
