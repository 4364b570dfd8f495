import type { AuthInfo } from '@modelcontextprotocol/server';
import type { Subject } from '@postern/mcp';
import { z } from 'zod';

const extraSchema = z.object({ iss: z.string(), sub: z.string() });

/** Returns the subject of the verified access token, which `createAccessTokenVerifier` has stored. */
export function subjectOf(authInfo: AuthInfo | undefined): Subject {
  const { iss, sub } = extraSchema.parse(authInfo?.extra);
  return { issuer: iss, subject: sub };
}
